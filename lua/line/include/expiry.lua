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

-- The zone's keep is a time to live, in ms, that no pass in the log exceeds until keep_until, as far as
-- it differs from the setting: the log is trimmed by it.
local function kept_for(z, now)
  return now < z.keep_until and z.keep or 0
end

-- keep_log notes that the log has passes with that time to live, which expire until then.
local function keep_log(z, now, ttl, upto)
  z.keep, z.keep_until = math.max(kept_for(z, now), ttl), math.max(z.keep_until, upto)
end
