-- idle: what a sweep does beside looking at the seen buckets.
--@include expiry
--@include presence
--@include place

-- How many expired admissions a call forgets: neighbours, so cheap.
local TRIM = 2000
-- How many of the line a call goes through: each is a look-up of its own.
local SEEK = 500

-- bury_idle buries the idle while a loss heals.
local function bury_idle(z, t, idle)
  for i, stands in ipairs(redis.call('ZMSCORE', LINE, unpack(idle))) do
    if stands then
      bury(z, t, idle[i], joined_at(idle[i], stands))
    end
  end
end

-- seek_unseen goes through some of the line, from a rank on. It returns how many it looked at.
local function seek_unseen(t, rank)
  local some = redis.call('ZRANGE', LINE, rank, rank + SEEK - 1, 'WITHSCORES')
  for i = 1, #some, 2 do
    if redis.call('HSETNX', bucket(some[i + 1]), some[i], struct.pack('>I6I2', t.now, 0)) == 1 then
      t.unseen = true
    end
  end
  return #some / 2
end

-- trim forgets marks and admissions that nobody needs. It returns how many admissions, at most TRIM.
local function trim(z, t)
  -- An empty line has no marks. Those who are released need none; but from the last
  -- of theirs on, the first of the others are counted.
  local before = string.format('%.0f', z.last_micros)
  if t.waiting > 0 then
    local edge = string.format('%.0f', z.edge_micros)
    before = '(' .. (redis.call('ZREVRANGEBYSCORE', MARKS, edge, '-inf', 'LIMIT', 0, 1)[1] or 0)
  end
  redis.call('ZREMRANGEBYSCORE', MARKS, '-inf', before)

  -- The limits need the last minute of the log, a repeated poll the passes that are good.
  local keep = max(MINUTE, z.ttl, kept_for(z, t.now))
  local old = min(TRIM, redis.call('ZCOUNT', LOG, '-inf', '(' .. string.format('%.0f', t.now - keep)))
  if old > 0 then
    redis.call('ZREMRANGEBYRANK', LOG, 0, old - 1)
  end
  return old
end
