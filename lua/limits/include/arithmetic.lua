-- arithmetic: what the algorithms of limits share.
--
-- Each algorithm is a table of functions of a rule r: key, limit, permits, window.
--   advance(r, now)     reads the key's state and moves it to now. It sets r.at, which
--                       is now, or later if the clock is behind; r.held, what was
--                       taken; and r.mended, if the clock was set back so far that the
--                       state has to follow it
--   short(r, cost)      returns how many ms after r.at the cost would be allowed; 0: now
--   take(r, now, cost)  takes the cost; returns the delay in ms, if there can be one
--   left(r)             returns how many permits are left, and in how many ms after r.at
--                       all of them are there again
--   keep(r, ttl)        writes the state, with a time to live of ttl ms
--
-- Redis itself writes a number that is an argument of a command, with 17 digits.

local floor, max = math.floor, math.max

-- The algorithms, by letter: each is a function that makes its table. To make a table costs
-- more than to use it, so only those are made that a request needs.
local ALGORITHMS = {}

-- ceil is a/b, rounded up. a must not be negative.
local function ceil(a, b)
  return floor((a + b - 1) / b)
end
