#!lua flags=allow-oom
-- touch: note visitors whom a server has told by itself that they wait, far from the
-- front (rank_cache.go, notes.go). What is left to do is to write that they were there.
--
-- KEYS[1..9]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     the epoch of the line in which they wait
-- ARGV[3]     the least of their arrivals, in microseconds
-- ARGV[4..]   three strings for each, at most 1,000 of them: the id (8 bytes), its seen
--             bucket, and when it polled and what period it was told (6 bytes and 2,
--             big-endian, ms); one byte more of one whose place a draw may have given
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, doubted, pace}
--   state, pace  see include/reply.lua
--   doubted      which of them, from 1, have to ask the next time: those who are not in
--                the line, of whom nothing is noted, and those whom the edge has reached
--
-- O(1) a visitor, unless the edge is near one of them; then O(log n). Run twice, it
-- leaves the same.

--@include zone
--@include begin
--@include reply

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle)
local t = begin(z, r, ARGV[1])

-- reached counts one among the live whom the edge reached before the note came: it
-- was there in time.
local function reached(id, stamp)
  local arrived, polled, period = tonumber(redis.call('ZSCORE', LINE, id)), struct.unpack('>I6I2', stamp)
  if arrived > z.edge_micros then
    return false
  end
  if polled + period + GRACE >= t.now then
    if redis.call('ZSCORE', LIVE, id) then
      t.live = t.live - 1
    else
      z.present = min(z.present + 1, z.passed)
    end
    enliven(t, id, arrived, polled + period)
  end
  return true
end

local doubted, call = {}, redis.call
local near, same = tonumber(ARGV[3]) <= z.edge_micros, tonumber(ARGV[2]) == z.epoch
for i = 4, #ARGV, 3 do
  local id, key, stamp, good = ARGV[i], SEEN .. ARGV[i + 1], ARGV[i + 2], same
  if good then
    if #stamp > 8 then -- its arrival is kept with what is noted of it
      stamp = string.sub(stamp, 1, 8) .. string.sub(call('HGET', key, id) or '', 9)
    end
    -- Whoever waits has a last poll, and nobody else.
    if call('HSET', key, id, stamp) == 1 then
      call('HDEL', key, id)
      good = false
    else
      z.polls = z.polls + 1
      good = not (near and reached(id, stamp))
    end
  end
  if not good then
    doubted[#doubted + 1] = (i - 1) / 3
  end
end
save_zone(ZONE, z)
return { 0, state_of(z, r, t), doubted, pace_of(z, r, t) }
