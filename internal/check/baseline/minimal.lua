#!lua
-- minimal: the least that a poll must do, for comparison: rank, and last poll.
--
-- KEYS[1]   zset  line  visitor id -> arrival, in microseconds
-- KEYS[2]   hash  seen  visitor id -> last poll, in milliseconds
-- ARGV[1]   the time of this poll, in milliseconds
-- ARGV[2..] the visitors' ids
--
-- Returns   the rank of each visitor, in order
--
-- O(log n) a visitor in the length of the line.

local ranks = {}
for i = 2, #ARGV do
  ranks[i - 1] = redis.call('ZRANK', KEYS[1], ARGV[i])
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[1])
end
return ranks
