#!lua flags=allow-oom
-- recall: take in departures that this store may have lost.
--
-- KEYS[1..13]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2..]   five for each departure, at most 1,000 of them: the id (8 bytes), the
--             arrival in decimal microseconds, the epoch, and when the visitor was
--             admitted and the pass expires, in ms; both 0 if it left
--
-- Returns  0 done, 1 zone unknown, 2 zone deleted, 4 its data is of a newer format
--
-- The place does not come back, and an admission is known again while its pass is
-- good; of several of one visitor, the latest. Whether it is inside, and until when, its session says. O(log n) a
-- departure. Run twice, the second changes nothing.

--@include zone
--@include expiry
--@include begin
--@include stay
--@include aside

local z, missing = load_zone(ZONE)
if not z then
  return missing
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])
for i = 2, #ARGV, 5 do
  local id, arrived, at, expires = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  if same_data(z, t, tonumber(ARGV[i + 2])) then
    local stands = redis.call('ZSCORE', LINE, id)
    if stands and joined_at(id, stands) > arrived then
      bury(z, t, id, arrived) -- joined anew since
    else
      local rank = stands and redis.call('ZRANK', LINE, id)
      forget(z, t, id, arrived, rank and rank < t.released)
      aside.drop(z, id, arrived)
    end
    if at > admission(redis.call('ZSCORE', LOG, id)) and at <= t.now and expires > t.now and not is_over(z, id, at) then
      keep_earlier(t, id)
      redis.call('ZADD', LOG, log_score(at, expires - at), id)
      keep_log(z, t.now, expires - at, expires)
    end
  end
end
save_zone(ZONE, z)
return 0
