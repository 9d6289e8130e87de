-- stay: how one admission begins and ends to be inside.
--@include begin
--@include expiry

-- comes counts an admission as inside until then, and a half.
local function comes(z, t, id, at, ends, half)
  count_stays(z, t.now)
  local new = redis.call('ZADD', INSIDE, string.format('%.1f', ends + half), id .. struct.pack('>I6', at))
  z.inside_next = z.inside > 0 and min(z.inside_next, ends) or ends
  z.inside, t.inside, t.cap = z.inside + new, t.inside + new, t.cap - new
end

-- enters counts an admission that was given at a time as inside, if its time is not over.
local function enters_inside(z, t, id, at, expires)
  if z.max_inside == 0 then
    return
  end
  local ends, half = at + z.session, 0
  if z.by_session == 1 then
    ends, half = expires, 0.5
  end
  if ends > t.from then
    comes(z, t, id, at, ends, half)
  end
end

-- returns takes one off the phantoms, if the admission may be one of them.
local function returns(z, t, at)
  if z.lost_inside > 0 and at <= z.inside_lost_at then
    z.lost_inside, z.lost_back = z.lost_inside - 1, z.lost_back + 1
    t.inside, t.cap = t.inside - 1, t.cap + 1
  end
end

-- stays_in has an admission stay inside until then, or longer. It returns line.StayInside (1), or
-- line.StayOver (2).
local function stays_in(z, t, id, at, ends)
  local key = id .. struct.pack('>I6', at)
  if at <= z.revoked_upto or redis.call('ZSCORE', OVER, key) then
    return 2
  elseif z.by_session == 0 then
    return 1
  end
  local before = tonumber(redis.call('ZSCORE', INSIDE, key) or '')
  if not before then
    returns(z, t, at)
    comes(z, t, id, at, ends, 0)
  elseif ends > before or before > floor(before) then
    local late = floor(before) <= t.from and 1 or 0
    redis.call('ZADD', INSIDE, string.format('%.0f', max(ends, floor(before))), key)
    t.late, t.inside, t.cap = t.late - late, t.inside + late, t.cap - late
  end
  return 1
end

-- is_over reports whether an admission is done or revoked.
local function is_over(z, id, at)
  return z.max_inside > 0 and (at <= z.revoked_upto or redis.call('ZSCORE', OVER, id .. struct.pack('>I6', at)))
end

-- recall_stay takes in an admission that may have been lost, and is not over.
local function recall_stay(z, t, id, at, expires)
  if z.max_inside > 0 and not redis.call('ZSCORE', INSIDE, id .. struct.pack('>I6', at)) then
    returns(z, t, at)
    enters_inside(z, t, id, at, expires)
  end
end

-- done ends an admission. It returns line.StayOver (2), or line.StayUnknown (0) for one that is
-- only named, and not inside. Its pass is not given out again.
local function done(z, t, id, at, named)
  local key = id .. struct.pack('>I6', at)
  local ends = tonumber(redis.call('ZSCORE', INSIDE, key) or '')
  if redis.call('ZSCORE', OVER, key) then
    return 2
  elseif not ends and named then
    return 0
  end
  if ends then
    local late = floor(ends) <= t.from and 1 or 0
    count_stays(z, t.now)
    redis.call('ZREM', INSIDE, key)
    count_stay(z, t.now - at)
    z.inside, z.gone, t.late = z.inside - 1, z.gone + 1, t.late - late
    t.inside, t.cap = t.inside - 1 + late, t.cap + 1 - late
  else
    returns(z, t, at)
  end
  redis.call('ZADD', OVER, t.now, key)
  z.has_over = 1
  if admission(redis.call('ZSCORE', LOG, id)) == at then
    keep_earlier(t, id)
    redis.call('ZREM', LOG, id)
    z.has_log = redis.call('EXISTS', LOG)
  end
  return 2
end
