-- place: how one visitor comes among the live, and how it leaves the line.
--@include rates
--@include keys

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
