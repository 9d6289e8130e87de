#!lua flags=allow-oom
-- delete_zone: remove a zone, and remember that it was removed rather than lost.
--
-- KEYS[1..13]  see include/keys.lua
-- KEYS[14]    list    audit   see include/record.lua
-- KEYS[15]    hash    record  see include/record.lua
-- KEYS[16]    string  lease   see sweep.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     how long to remember that it was deleted, ms
-- ARGV[3]     how long to keep the record of its changes, ms
-- ARGV[4]     the audit.Addition to the record, as JSON
-- ARGV[5]     '' to delete the zone; else the first of the seen buckets to remove
-- ARGV[6]     of how many
-- ARGV[7]     the settings that were read (JSON); ARGV[8]: the time of the entry, ms
--
-- Returns  0 deleted or, with buckets, there is a zone; 1 unknown, 2 deleted before, 3 the settings or the record have
--          changed since they were read, or somebody was admitted after the time of the entry; 4 data of a newer format
--
-- The seen buckets are removed by further calls: 16,384 names are too many for one. They
-- are removed only while the zone is still the deleted one: a zone of that name may be
-- made in between, and the polls of its visitors lie there. Run twice, the second changes
-- nothing.

--@include zone
--@include loss
--@include record

local z, missing = load_zone(ZONE)
if ARGV[5] ~= '' and missing == 2 then
  local names = {}
  for i = 1, tonumber(ARGV[6]) do
    names[i] = SEEN .. string.format('%d', ARGV[5] + i - 1)
  end
  redis.call('UNLINK', unpack(names))
end
if not z or ARGV[5] ~= '' then
  return missing or 0
end
local AUDIT, RECORD, LEASE = KEYS[14], KEYS[15], KEYS[16]
-- What is left, for a zone of that name that is made within the minute: where its
-- clock and its arrivals go on, and window.Rates.Remains.
local newest = redis.call('ZREVRANGE', LOG, 0, 0, 'WITHSCORES')
newest = max(z.lost_at, floor(newest[2] or 0))
local entry = cjson.decode(ARGV[4])
if redis.call('HGET', ZONE, 'json') ~= ARGV[7] or moved(RECORD, entry)
  or min(newest, floor(time(ARGV[1]) / 1000)) > tonumber(ARGV[8]) then
  return 3
end
local minute = tick(z, ARGV[1]) - MINUTE
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local lost_window, logged_window = since(z, max(newest - z.window, minute))
local lost_minute, logged_minute = since(z, minute)
local left = {
  format = FORMAT,
  raw_micros = z.raw_micros, now_micros = z.now_micros, last_micros = z.last_micros, epoch = z.epoch,
  set_micros = z.set_micros, ahead_micros = z.ahead_micros,
  lost_at = newest, lost_apart = z.window + 1,
  lost_limit = max(r.limit + z.burst, lost_window + logged_window),
  lost_per_minute = max(z.per_minute, lost_minute + logged_minute),
}
redis.call('UNLINK', INSIDE, ZONE, LINE, LIVE, DUE, LOG, DEPARTED, WAITS, MARKS, ASIDE[0], ASIDE[1], LEASE)
redis.call('PEXPIRE', OVER, ARGV[2])
redis.call('HSET', ZONE, 'deleted', 1)
-- Who is inside stays so. Nothing more is known of them than for how long.
if z.session then
  local now = floor(z.now_micros / 1000)
  local inside, longest = z.max_inside > 0 and z.inside + z.lost_inside or 0, longest_of(z, now)
  local capped = z.max_inside > 0
  set_crowd(z, '')
  if inside > 0 then
    set_unknown(z, inside, now, longest)
  end
  if capped then
    z.longest, z.longest_until = longest, now + DAY
  end
  redis.call('HSET', ZONE, 'crowd', crowd_of(z))
end
for name, value in pairs(left) do
  redis.call('HSET', ZONE, name, string.format('%.0f', value))
end
redis.call('PEXPIRE', ZONE, ARGV[2])
note(AUDIT, RECORD, entry)
redis.call('PEXPIRE', AUDIT, ARGV[3])
redis.call('PEXPIRE', RECORD, ARGV[3])
return 0
