-- crowd: a zone's keys, and how one visitor comes among the live or goes.

-- The keys, in the order in which every script that includes this takes them.
--   KEYS[1]  hash  zone   settings and state, see zone.lua
--   KEYS[2]  zset  line   visitor id -> arrival, in microseconds
--   KEYS[3]  zset  live   live released visitor id -> arrival
--   KEYS[4]  zset  due    live released visitor id -> when expected, ms
--   KEYS[5]  zset  log    visitor id -> when admitted, ms
--   KEYS[6]  set   gone   ids that left after a loss and must not be healed
--   KEYS[7]  the common beginning of the keys of the buckets:
--            hash  seen   visitor id -> last poll (6 bytes, ms) and period
--                         (2 bytes, ms), both big-endian
--   KEYS[8]  hash  waits  how long the admitted had waited: bucket -> how many
--   KEYS[9]  zset  marks  the arrival of every 512th who lined up, as member
--                         and score; see round.lua
local ZONE, LINE, LIVE, DUE, LOG, GONE, SEEN, WAITS, MARKS =
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

-- forget takes a visitor out of the line for good. The arrival is the one that
-- its token names; it matters only where places are being healed.
local function forget(z, t, id, arrived, released)
  if z.heal_until > t.now and arrived > z.heal_after and arrived <= z.heal_upto then
    redis.call('SADD', GONE, id)
    redis.call('PEXPIRE', GONE, HEAL)
  end
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
