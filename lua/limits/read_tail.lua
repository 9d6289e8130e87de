#!lua flags=no-writes
-- read_tail: what a server has to know of a record before it adds an entry.
--
-- KEYS[1]  list  audit   see include/record.lua
-- KEYS[2]  hash  record  see include/record.lua
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  how many of the oldest entries are wanted
--
-- Returns  {time in milliseconds, the sealed head or '', how many entries there are, the newest entry or '',
--          the oldest entries, the oldest last}

--@include clock

local AUDIT, RECORD, MOST = KEYS[1], KEYS[2], tonumber(ARGV[2])

return {
  string.format('%.0f', math.floor(time(ARGV[1]) / 1000)), redis.call('HGET', RECORD, 'head') or '',
  redis.call('LLEN', AUDIT), redis.call('LRANGE', AUDIT, 0, 0)[1] or '', redis.call('LRANGE', AUDIT, -MOST, -1),
}
