#!lua
-- visit: visitors of one zone join, poll or leave, in the order given.
--
-- KEYS[1..9]  see include/crowd.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     how many of the visitors are only glanced at; see include/glance.lua
-- ARGV[3]     the least of their arrivals, in microseconds
-- ARGV[4]     how many poll
-- ARGV[5..]   three strings for each who is glanced at: the id (8 bytes), its
--             seen bucket, and the period that it is told (2 bytes, ms); four for
--             each who polls: the id, its bucket, the arrival in the token, in decimal
--             microseconds, and the token's time to be due and epoch (6 bytes, in ms,
--             and 4, big-endian); and two for each of the others, those who
--             join last: a letter, and
--               l  leave: the id and the arrival in the token
--               j  join:  the id, and further ids it may have a place under
--               s  nobody: '', the zone's totals are asked for
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, answers, missed, rounded, pace, moved, waits}
--   state    now, edge, last arrival, waiting, released, live, in window, in
--            minute, window limit, edge passed, edge live, epoch, lost at; when the
--            clock was last set back, and by how much the zone's was ahead then
--   answers  flat, in order. poll, l: status (+16 if the place was restored), then
--            position, estimate, period, or admitted at, expires at, 0.
--            j: the same, then arrival, and which of its ids it is.
--            s: TOTALS of include/zone.lua, estimate
--   missed   which of those glanced at, from 1, are not in the line or may be near
--            the door: nothing is noted of them, and they have to poll
--   rounded  for whose position lies between two marks: both, and the position
--   pace     live released expected to come, room, per minute, longest period
--   moved    of those who poll with a token that is late: which, from 1, and where
--            it stands: the arrival
--   waits    if there is an s: bucket, how many, ... (as strings); else empty
--
-- O(log n) a visitor, and at most 200 more tokens a call for the edge. Run twice,
-- it gives the same places and admissions. A visitor's refusal writes nothing.

--@include rates
--@include clock
--@include zone
--@include lifetime
--@include crowd
--@include loss
--@include turn
--@include admit
--@include round
--@include wait

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle)
local t = begin(z, r, ARGV[1])

--@include heal

local function poll(id, arrived, rank, says)
  local restored = 0
  if not rank then
    local at = admitted_at(z, t, id)
    if at then
      return BEFORE, at, expires(z, at), 0
    end
    if not heals(id, arrived, says) then
      return NOBODY, 0, 0, 0
    end
    redis.call('ZADD', LINE, string.format('%.0f', arrived), id)
    refill(z, r, t)
    rank = redis.call('ZRANK', LINE, id)
    t.waiting = t.waiting + 1
    if arrived <= z.edge_micros then
      t.released = t.released + 1
    end
    restored, z.healed, z.restored, t.open = 16, 1, z.restored + 1, nil
  end
  local released, live_rank = rank < t.released, nil
  if z.mode == 'open' then
    local status, at, expiry = admit(z, r, t, id, arrived, released)
    return status + restored, at, expiry, 0
  end
  if released then
    live_rank = redis.call('ZRANK', LIVE, id)
    if not live_rank then
      redis.call('ZADD', LIVE, redis.call('ZSCORE', LINE, id), id)
      live_rank = redis.call('ZRANK', LIVE, id)
      t.live = t.live + 1
      z.present = min(z.present + 1, z.passed)
      z.missed = max(0, z.missed - 1)
    end
    if live_rank < reach(r, t.room) then
      z.kept = z.kept + 1
      age(z, r)
      local status, at, expiry = admit(z, r, t, id, arrived, released)
      return status + restored, at, expiry, 0
    end
  end
  local status, position, est, period = wait(z, r, t, id, arrived, rank, live_rank)
  return status + restored, position, est, period
end

--@include join
--@include glance
--@include answer
