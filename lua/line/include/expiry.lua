-- expiry: an entry of the log says when a visitor was admitted and when that pass expires, in one
-- score. So a change of the settings moves no expiry, and an entry takes no more memory for it.
--
-- The score is the time in ms. Behind the point, in 4096ths, is how long the pass lives: a number
-- of seconds up to 2,700, above that of minutes, up to a day. Those 12 bits are what a double has
-- left beside the time, until the year 2039. zone.Settings.PassTTL rounds accordingly.

local EXACT_TTL, TTL_CODES = 2700, 4096

-- log_score is the score of an admission, whose pass lives for ttl ms.
local function log_score(at, ttl)
  local code = ttl / 1000
  if code > EXACT_TTL then
    code = EXACT_TTL + (code - EXACT_TTL) / 60
  end
  return string.format('%.17g', at + math.floor(code) / TTL_CODES)
end

-- admission is when the visitor of a score was admitted and when the pass expires, in ms; 0 and 0
-- if there is no score.
local function admission(score)
  score = tonumber(score or 0)
  local at = math.floor(score)
  local code = (score - at) * TTL_CODES
  if code > EXACT_TTL then
    code = EXACT_TTL + (code - EXACT_TTL) * 60
  end
  return at, at + code * 1000
end
