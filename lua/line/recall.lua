#!lua flags=allow-oom
-- recall: take in departures that this store may have lost.
--
-- KEYS[1..9]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2..]   four for each departure, at most 1,000 of them: the id (8 bytes), the
--             arrival in decimal microseconds, the epoch, and when the visitor was
--             admitted, in ms; 0 if it left
--
-- Returns  0 done, 1 zone unknown, 2 zone deleted, 4 its data is of a newer format
--
-- The place does not come back, and an admission is known again while its pass is
-- good; of several of one visitor, the latest. O(log n) a departure. Run twice, the second changes nothing.

--@include zone
--@include lifetime
--@include begin

local z, missing = load_zone(ZONE)
if not z then
  return missing
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])
for i = 2, #ARGV, 4 do
  local id, arrived, at = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3])
  if same_data(z, t, tonumber(ARGV[i + 2])) then
    local stands = redis.call('ZSCORE', LINE, id)
    if stands and joined_at(id, stands) > arrived then
      bury(z, t, id, arrived) -- joined anew since
    else
      local rank = stands and redis.call('ZRANK', LINE, id)
      forget(z, t, id, arrived, rank and rank < t.released)
    end
    local known = tonumber(redis.call('ZSCORE', LOG, id) or 0)
    if at > known and at <= t.now and expires(z, at) > t.now then
      keep_earlier(t, id)
      redis.call('ZADD', LOG, string.format('%.0f', at), id)
      z.has_log = 1
    end
  end
end
save(z, r, t)
return 0
