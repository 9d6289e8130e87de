#!lua flags=allow-oom
-- delete: remove a zone, and remember that it was removed rather than lost.
--
-- KEYS[1..9]  see include/crowd.lua
-- KEYS[10]    see include/record.lua
-- KEYS[11]    string  lease  see sweep.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     how long to remember that it was deleted, ms
-- ARGV[3]     how long to keep the record of its changes, ms
-- ARGV[4]     who deletes it, a JSON string
--
-- Returns  0 deleted, 1 unknown, 2 deleted before
--
-- The seen buckets are removed afterwards, by the caller: 16,384 names are
-- too many for one call. Run twice, the second changes nothing.

--@include rates
--@include zone
--@include crowd
--@include record

local z, missing = load_zone(ZONE)
if not z then
  return missing
end
local settings = redis.call('HGET', ZONE, 'json')
redis.call('UNLINK', ZONE, LINE, LIVE, DUE, LOG, GONE, WAITS, MARKS, KEYS[11])
redis.call('HSET', ZONE, 'deleted', 1)
redis.call('PEXPIRE', ZONE, ARGV[2])
note(time(ARGV[1]), ARGV[4], settings, 'null')
redis.call('PEXPIRE', AUDIT, ARGV[3])
return 0
