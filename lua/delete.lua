#!lua flags=allow-oom
-- delete: remove a zone, and remember that it was removed rather than lost.
--
-- KEYS[1..7]  see include/crowd.lua
-- KEYS[8]     string  lease  see sweep.lua
-- ARGV[1]     how long to remember, ms
--
-- Returns  0 deleted, 1 unknown, 2 deleted before
--
-- The seen buckets are removed afterwards, by the caller: 16,384 names are
-- too many for one call. Run twice, the second changes nothing.

--@include rates
--@include zone
--@include crowd

local z, missing = load_zone(ZONE)
if not z then
  return missing
end
redis.call('UNLINK', ZONE, LINE, LIVE, DUE, LOG, GONE, KEYS[8])
redis.call('HSET', ZONE, 'deleted', 1)
redis.call('PEXPIRE', ZONE, ARGV[1])
return 0
