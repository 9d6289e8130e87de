#!lua
-- visit: visitors of one zone join, poll or leave, in the order given.
--
-- KEYS[1..8]  see include/crowd.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     how many of the visitors poll; they come first, three strings each:
--             the id (8 bytes), its seen bucket, and the arrival in the token, in
--             decimal microseconds
-- ARGV[..]    the others, two strings each: a letter, and
--               l  leave: the id and the arrival in the token
--               j  join:  the id, and further ids it may have a place under
--               s  nobody: '', the zone's totals are asked for
--
-- Returns  {1} zone unknown, {2} zone deleted, or {0, state, answers, waits}
--   state    now, edge, last arrival, waiting, released, live, in window, in
--            minute, window limit, edge passed, edge live
--   answers  flat, in order. poll, l: status (+16 if the place was restored), then
--            position, estimate, period, or admitted at, expires at, 0.
--            j: the same, then arrival, and which of its ids it is.
--            s: joined, admitted, left, swept, restored, polls, estimate
--   waits    if there is an s: bucket, how many, ... (as strings); else empty
--
-- O(log n) a visitor, and at most 200 more tokens a call for the edge. Run twice,
-- it gives the same places and admissions. A visitor's refusal writes nothing.

--@include rates
--@include zone
--@include lifetime
--@include crowd
--@include loss
--@include turn
--@include admit

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle)
local t = begin(z, r, ARGV[1])

-- wait tells a waiting visitor how long, and when to poll.
local function wait(id, arrived, rank, live_rank)
  local est, period
  if live_rank then
    local opens_in = opens(z, r, t, expect(z, r, live_rank)) - t.now
    est = min(opens_in, DAY)
    period = appointment_period(z, r, opens_in)
    redis.call('ZADD', DUE, t.now + period, id)
  else
    est = estimate(r, expect(z, r, t.live), rank - t.released, t.room, z.present, z.passed)
    local jitter = (string.byte(id, 8) + t.now) % 256
    period = far_period(r, est, t.now - floor(arrived / 1000), jitter)
  end
  redis.call('HSET', bucket(id), id, struct.pack('>I6I2', t.now, period))
  return WAITING, rank + 1, est, period
end

-- heals reports whether an unknown place was lost rather than given up.
local function heals(id, arrived)
  if arrived > z.last_micros then
    -- Newer than anything this store has given out, and signed.
    lose(z, r, t.now)
    z.last_micros = max(z.last_micros, arrived)
    z.heal_upto = z.last_micros
    return true
  end
  return t.now < z.heal_until and arrived > z.heal_after and arrived <= z.heal_upto
    and redis.call('SISMEMBER', GONE, id) == 0
end

local function poll(id, arrived, rank)
  local restored = 0
  if not rank then
    local at = admitted_at(z, t, id)
    if at then
      return BEFORE, at, expires(z, at), 0
    end
    if not heals(id, arrived) then
      return NOBODY, 0, 0, 0
    end
    redis.call('ZADD', LINE, string.format('%.0f', arrived), id)
    refill(z, r, t)
    rank = redis.call('ZRANK', LINE, id)
    t.waiting = t.waiting + 1
    if arrived <= z.edge_micros then
      t.released = t.released + 1
    end
    restored, z.healed, z.restored = 16, 1, z.restored + 1
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
  local status, position, est, period = wait(id, arrived, rank, live_rank)
  return status + restored, position, est, period
end

--@include join
--@include answer
