-- place: how one visitor comes among the live, and how it leaves the line.
--@include rates
--@include keys

-- arrival_kept is what the seen bucket keeps of an arrival: '' where it is the score, as of all
-- to whom no draw gave a place.
local function arrival_kept(key, id, arrived, score)
  if score == arrived then
    return ''
  end
  local seen = redis.call('HGET', key, id)
  return seen and string.sub(seen, 9) or struct.pack('>I8', arrived)
end

-- note_poll notes that a visitor polled, who stands at the score.
local function note_poll(t, id, period, arrived, score)
  local key = bucket(score)
  redis.call('HSET', key, id, struct.pack('>I6I2', t.now, period) .. arrival_kept(key, id, arrived, score))
end

-- joined_at is the arrival of a waiting visitor who stands there.
local function joined_at(id, stands)
  local seen = redis.call('HGET', bucket(stands), id)
  return seen and #seen > 8 and struct.unpack('>I8', seen, 9) or tonumber(stands)
end

-- enliven counts a released visitor among the live.
local function enliven(t, id, arrived, due)
  redis.call('ZADD', LIVE, arrived, id)
  redis.call('ZADD', DUE, due, id)
  t.live = t.live + 1
end

-- stays_live sets when a live visitor is due next, while people gather.
local function stays_live(t, id, due)
  if t.live > 0 and redis.call('ZSCORE', LIVE, id) then
    redis.call('ZADD', DUE, due, id)
  end
end

-- bury notes that no place must be put back that the visitor had by that arrival.
local function bury(z, t, id, arrived)
  if z.heal_until > t.now and arrived > z.heal_after then
    redis.call('ZADD', DEPARTED, 'GT', string.format('%.0f', arrived), id)
  end
end

-- forget takes a visitor out of the line for good. arrived is the token's arrival: the place may be a later one.
local function forget(z, t, id, arrived, released)
  local score = redis.call('ZSCORE', LINE, id)
  if score and z.heal_until > t.now then
    arrived = max(arrived, joined_at(id, score))
  end
  bury(z, t, id, arrived)
  if not score then
    return false
  end
  redis.call('ZREM', LINE, id)
  t.waiting = t.waiting - 1
  if released then
    t.released = t.released - 1
    if redis.call('ZREM', LIVE, id) == 1 then
      redis.call('ZREM', DUE, id)
      t.live = t.live - 1
    end
  end
  local noted, its = redis.call('HDEL', bucket(score), id), bucket_number(score)
  z.seen = z.seen - (its < z.swept_to and noted or 0)
  return true
end
