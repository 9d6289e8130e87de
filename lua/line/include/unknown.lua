-- unknown: one number for all who may be inside since a loss, as window.Unknown has it.
--@include flow
--@include keys
--@include zone
--@include stays

-- longest_of is for how long somebody can be inside by the settings of the last 24 hours, without being renewed.
local function longest_of(z, now) return max(z.session, z.ttl, now < z.longest_until and z.longest or 0) end

-- change_longest takes in that by the settings it was that long, as window.Longest.Change has it.
local function change_longest(z, now, was)
  if was > max(z.session, z.ttl) then
    z.longest, z.longest_until = max(was, longest_of(z, now)), now + DAY
  end
end

-- set_unknown has so many be inside of whom nothing is known, from a loss on. Those who came back since another loss in
-- the same millisecond have not come back since this one.
local function set_unknown(z, most, now, longest)
  if now > 0 then
    redis.call('ZREMRANGEBYSCORE', OVER, -now, -now)
  end
  z.lost_inside, z.lost_most, z.lost_from, z.inside_lost_at = most, most, 0, now
  z.lost_until = now > 0 and now + longest + QUIET or 0
end

-- raise_unknown takes in that somebody supposes so many.
local function raise_unknown(z, most)
  z.lost_inside, z.lost_most = z.lost_inside + max(0, most - z.lost_most), max(z.lost_most, most)
end

-- clear_inside has nobody be inside, known or not.
local function clear_inside(z)
  redis.call('UNLINK', INSIDE)
  redis.call('ZADD', INSIDE, '+inf', '')
  z.inside, z.inside_next = 0, 0
  set_unknown(z, 0, 0, 0)
end

-- may_be_inside is how many may be inside where so many were counted before, as window.MayBeInside has it.
local function may_be_inside(z, r, counted, span)
  if z.mode == 'open' then
    return max(counted, z.max_inside)
  end
  span = max(0, span)
  local windows, minutes = floor(span / (r.window + 1)) + 1, floor(span / (MINUTE + 1)) + 1
  local admits = min(windows * (r.limit + z.burst), minutes * r.per_minute)
  return max(counted, min(counted + admits, z.max_inside))
end

-- lose_inside takes in that what is known of those inside may be lost, since before: all are unknown until they come
-- back.
local function lose_inside(z, r, now, before)
  local most = may_be_inside(z, r, z.inside + z.lost_inside, now - before)
  count_stays(z, now)
  clear_inside(z)
  set_unknown(z, most, now, longest_of(z, now))
end
