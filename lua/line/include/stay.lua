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

-- enters_inside counts an admission that is given now as inside.
local function enters_inside(z, t, id, expires)
  if z.max_inside > 0 and z.by_session == 1 then
    comes(z, t, id, t.now, expires, 0.5)
  elseif z.max_inside > 0 then
    comes(z, t, id, t.now, t.now + z.session, 0)
  end
end

-- over_since is when an admission was done; below 0 if it came back since a loss.
local function over_since(key) return tonumber(redis.call('ZSCORE', OVER, key) or '') or 0 end

-- may_be_unknown reports whether an admission may be one of the unknown.
local function may_be_unknown(z, at) return z.lost_inside > 0 and z.lost_from < at and at <= z.inside_lost_at end

-- comes_back takes one off the unknown, if the admission may be one of them and did not come back before.
local function comes_back(z, key, at)
  if may_be_unknown(z, at) and over_since(key) ~= -z.inside_lost_at then
    z.lost_inside = z.lost_inside - 1
    redis.call('ZADD', OVER, -z.inside_lost_at, key)
    return 1
  end
  return 0
end

-- stays_in has an admission stay inside until then, or longer. It returns line.StayInside (1), line.StayOver (2), or
-- for a session that begins too soon after a loss line.StayUnknown (0).
local function stays_in(z, t, id, at, ends, begins)
  local key = id .. struct.pack('>I6', at)
  if at <= z.revoked_upto or over_since(key) > 0 then
    return 2
  end
  local before = tonumber(redis.call('ZSCORE', INSIDE, key) or '')
  if not before and begins and may_be_unknown(z, at) and t.now < z.inside_lost_at + QUIET then
    return 0
  end
  local most = z.by_session == 0 and at + z.session or math.huge
  if before then
    ends = min(ends, most)
  else -- the pass may be shown once more, if the store lost that it was spent
    ends = max(ends, min(at + max(z.ttl, t.now < z.longest_until and z.longest or 0), most))
  end
  if not before and ends > t.from then
    local one = comes_back(z, key, at)
    t.inside, t.cap = t.inside - one, t.cap + one
    comes(z, t, id, at, ends, 0)
  elseif before and (ends > before or before > floor(before)) then
    local late = floor(before) <= t.from and 1 or 0
    redis.call('ZADD', INSIDE, string.format('%.0f', max(ends, floor(before))), key)
    t.late, t.inside, t.cap = t.late - late, t.inside + late, t.cap - late
  end
  return 1
end

-- is_over reports whether an admission is done or revoked.
local function is_over(z, id, at)
  return at <= z.revoked_upto or over_since(id .. struct.pack('>I6', at)) > 0
end

-- done ends an admission. It returns line.StayOver (2), or line.StayUnknown (0) for one that is only named, and not
-- inside. Its pass is not given out again. Nobody is taken off the unknown: whether the admission is one of them is not
-- known. before: it was done before the loss.
local function done(z, t, id, at, named, before)
  local key = id .. struct.pack('>I6', at)
  local ends = tonumber(redis.call('ZSCORE', INSIDE, key) or '')
  if over_since(key) > 0 then
    return 2
  elseif not ends and named then
    return 0
  end
  if ends then
    local late = floor(ends) <= t.from and 1 or 0
    count_stays(z, t.now)
    redis.call('ZREM', INSIDE, key)
    count_stay(t.now - at)
    z.inside, z.gone, t.late = z.inside - 1, z.gone + 1, t.late - late
    t.inside, t.cap = t.inside - 1 + late, t.cap + 1 - late
    if before and at <= z.inside_lost_at then -- another server did not know it, and told that the session goes on
      z.lost_inside, t.inside, t.cap = z.lost_inside + 1, t.inside + 1, t.cap - 1
    end
  end
  redis.call('ZADD', OVER, t.now, key)
  if admission(redis.call('ZSCORE', LOG, id)) == at then
    keep_earlier(t, id)
    redis.call('ZREM', LOG, id)
  end
  return 2
end
