-- arithmetic: what the algorithms of limits share.
--
-- Each algorithm is a table of functions of a rule r: key, limit, permits, window.
--   advance(r, now)     reads what is remembered of the key, as it is at now. It
--                       sets at, which is now, or later if the clock is behind;
--                       held, what has been taken; and mended, if the clock was set
--                       back so far that what is remembered has to follow it
--   short(r, cost)      how many ms after at the cost would be allowed, 0: now
--   take(r, now, cost)  takes it; returns the delay, if there can be one
--   left(r)             what remains, and in how many ms after at all is there again
--   keep(r, ttl)        writes, for so many ms
--
-- A number that is an argument of a command is written by Redis, with 17 digits.

local floor, max = math.floor, math.max

-- Those that the script has, by letter. To make them costs more than to use one, so
-- a script for requests of one algorithm has no other.
local ALGORITHMS = {}

-- ceil is a/b, rounded up, of what is not negative.
local function ceil(a, b)
  return floor((a + b - 1) / b)
end
