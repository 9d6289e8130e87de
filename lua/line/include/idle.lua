-- idle: what a sweep does beside looking at the seen buckets.
--@include expiry
--@include loss
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
  local some = redis.call('ZRANGE', LINE, rank, min(rank + SEEK, t.waiting) - 1, 'WITHSCORES')
  for i = 1, #some, 2 do
    redis.call('HSETNX', bucket(some[i + 1]), some[i], struct.pack('>I6I2', t.now, 0))
  end
  return #some / 2
end

-- trim_over forgets which admissions are done so long ago that none of them can be shown any more, and who came back
-- since a loss before the latest. It returns how many.
local function trim_over(z, t)
  local current = z.inside_lost_at > 0 and string.format('%.0f', -z.inside_lost_at) or '-inf'
  local before = string.format('(%.0f', t.now - longest_of(z, t.now) - MINUTE)
  local old = min(TRIM, redis.call('ZCOUNT', OVER, '(' .. current, before))
  local first = redis.call('ZCOUNT', OVER, '-inf', current)
  if old > 0 then
    redis.call('ZREMRANGEBYRANK', OVER, first, first + old - 1)
  end
  return old
end

-- trim forgets marks and admissions that nobody needs. It returns how many admissions, at most TRIM or as many of those
-- done.
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
  local old = min(TRIM, redis.call('ZCOUNT', LOG, '(-inf', '(' .. string.format('%.0f', t.now - keep)))
  if old > 0 then
    redis.call('ZREMRANGEBYRANK', LOG, 1, old)
  end
  if t.now >= z.heal_until then
    redis.call('UNLINK', DEPARTED)
  end
  return max(old, z.session and trim_over(z, t) or 0)
end
