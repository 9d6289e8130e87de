-- crowd: a zone's keys, and how one visitor comes among the live or goes.

-- The keys, in the order in which every script that includes this takes them.
--   KEYS[1]  hash  zone   settings and state, see zone.lua
--   KEYS[2]  zset  line   visitor id -> arrival, in microseconds
--   KEYS[3]  zset  live   live released visitor id -> arrival
--   KEYS[4]  zset  due    live released visitor id -> when expected, ms
--   KEYS[5]  zset  log    visitor id -> when admitted, ms
--   KEYS[6]  zset  departed  after a loss: visitor id -> newest arrival of a place that
--                         must not be put back
--   KEYS[7]  the common beginning of the keys of the buckets:
--            hash  seen   visitor id -> last poll (6 bytes, ms) and period
--                         (2 bytes, ms), both big-endian
--   KEYS[8]  hash  waits  how long the admitted had waited: bucket -> how many
--   KEYS[9]  zset  marks  the arrival of every 512th who lined up, as member
--                         and score; see round.lua
local ZONE, LINE, LIVE, DUE, LOG, DEPARTED, SEEN, WAITS, MARKS =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]

-- bucket is the key of the seen bucket of an id: 16,384 by its first 14 bits.
local function bucket(id)
  local a, b = string.byte(id, 1, 2)
  return SEEN .. (a * 64 + math.floor(b / 4))
end

-- enliven counts a released visitor among the live.
local function enliven(t, id, arrived, due)
  redis.call('ZADD', LIVE, arrived, id)
  redis.call('ZADD', DUE, due, id)
  t.live = t.live + 1
end

-- bury notes that a place must not be put back. The arrival is the one that its
-- token names.
local function bury(z, t, id, arrived)
  if z.heal_until > t.now and arrived > z.heal_after and arrived <= z.heal_upto then
    redis.call('ZADD', DEPARTED, 'GT', string.format('%.0f', arrived), id)
    redis.call('PEXPIRE', DEPARTED, HEAL)
  end
end

-- forget takes a visitor out of the line for good.
local function forget(z, t, id, arrived, released)
  bury(z, t, id, arrived)
  if redis.call('ZREM', LINE, id) == 0 then
    return false
  end
  t.waiting = t.waiting - 1
  if released then
    t.released = t.released - 1
    if redis.call('ZREM', LIVE, id) == 1 then
      redis.call('ZREM', DUE, id)
      t.live = t.live - 1
    end
  end
  redis.call('HDEL', bucket(id), id)
  return true
end
