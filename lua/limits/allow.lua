#!lua
-- allow: decide one request under all rules of a limit, and count it in all or none.
--
-- KEYS       one for each rule, a zset or a string: see the include of its algorithm
-- ARGV[1]    clock override in microseconds, '' for the server's clock
-- ARGV[2]    how much longer than needed keys are kept, ms
-- ARGV[3]    the cost: 1 to the permits of each rule
-- ARGV[4..]  four for each rule: the algorithm's letter, which is l (sliding_log),
--            c (sliding_counter), t (token_bucket), q (leaky_bucket) or
--            f (fixed_window); the limit; the permits, which are the most that
--            can be taken at once; and the window, ms
--
-- Returns  {allowed, retry, delay, remaining, reset, remaining, reset, ...}
--   allowed    1 or 0
--   retry      in how many ms the request would be allowed; 0 if it is
--   delay      how many ms the request should wait to leave a leaky_bucket evenly
--   remaining  for each rule, how many permits are left
--   reset      for each rule, in how many ms all permits are there again
--
-- The arithmetic is that of internal/limits/limit, under the same names. Numbers
-- stay below 2^53.
--
-- O(log n) in the permits of a log, plus the permits that have left the log since it
-- was last cleared: at most 10,000. A refusal writes nothing, unless the clock was set
-- back. A script that runs twice takes the cost twice.

--@include clock
--@include arithmetic
--@include fixed_window
--@include sliding_counter
--@include token_bucket
--@include leaky_bucket
--@include sliding_log

local now, cost = floor(time(ARGV[1]) / 1000), tonumber(ARGV[3])
local rules, retry, delay = {}, 0, 0
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local r = {
    key = key, limit = tonumber(ARGV[at + 1]), permits = tonumber(ARGV[at + 2]), window = tonumber(ARGV[at + 3]),
    algorithm = ALGORITHMS[ARGV[at]](),
  }
  r.algorithm.advance(r, now)
  local short = r.algorithm.short(r, cost)
  if short > 0 then
    retry = max(retry, short + r.at - now)
  end
  rules[i] = r
end

local allowed = retry == 0
local reply = { allowed and 1 or 0, retry, delay }
for _, r in ipairs(rules) do
  if allowed then
    delay = max(delay, r.algorithm.take(r, now, cost) or 0)
  end
  local remaining, reset = r.algorithm.left(r)
  if reset > 0 then
    reset = reset + r.at - now
  end
  if allowed or r.mended then
    r.algorithm.keep(r, reset + ARGV[2])
  end
  reply[#reply + 1] = max(0, remaining)
  reply[#reply + 1] = reset
end
reply[3] = delay
return reply
