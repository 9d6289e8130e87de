-- inside: how many are inside, where a zone has a cap (max_inside), as internal/embedded/inside.go has it.
--   INSIDE  zset  admission (the visitor's id, 8 bytes, and when, 6 bytes, ms, big-endian) -> until
--                 when it is inside, ms, and a half more while its session has not begun
--   OVER    zset  admission that is done -> when it was done, ms; one that came back since a loss -> when that was, ms, below 0
--@include stays
--@include zone

-- As window.EndBatch.
local ENDS = 100

-- ended is the bound of a range of scores of those who are inside no longer then.
local function ended(millis) return '(' .. string.format('%.0f', millis + 1) end

-- longest_of is for how long somebody can be inside by the settings of the last 24 hours, without being renewed.
local function longest_of(z, now) return max(z.session, z.ttl, now < z.longest_until and z.longest or 0) end

-- change_longest takes in that by the settings it was that long, as window.Longest.Change has it.
local function change_longest(z, now, was)
  if was > max(z.session, z.ttl) then
    z.longest, z.longest_until = max(was, longest_of(z, now)), now + DAY
  end
end

-- set_unknown has so many be inside of whom nothing is known, from a loss on.
local function set_unknown(z, most, now, longest)
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
  local admits = min((floor(span / (r.window + 1)) + 1) * (r.limit + z.burst), (floor(span / (MINUTE + 1)) + 1) * r.per_minute)
  return max(counted, min(counted + admits, z.max_inside))
end

-- lose_inside takes in that what is known of those inside may be lost, since before: all are unknown until they come back.
local function lose_inside(z, r, now, before)
  local most = may_be_inside(z, r, z.inside + z.lost_inside, now - before)
  count_stays(z, now)
  clear_inside(z)
  set_unknown(z, most, now, longest_of(z, now))
end

-- end_stays takes off those whose time is over, and then those of whom nothing is known.
local function end_stays(z, t)
  t.from, t.late = t.now < z.quiet_until and z.quiet_at or t.now, 0
  if z.lost_until <= t.from then
    set_unknown(z, 0, 0, 0)
  end
  if z.inside == 0 or z.inside_next > t.from then
    return
  end
  local due, keys = redis.call('ZRANGEBYSCORE', INSIDE, '-inf', ended(t.from), 'WITHSCORES', 'LIMIT', 0, ENDS), {}
  for i = 1, #due, 2 do
    local ends = tonumber(due[i + 1])
    keys[#keys + 1] = due[i]
    if ends > floor(ends) then
      z.unused = z.unused + 1
    else
      count_stay(ends - struct.unpack('>I6', due[i], 9))
    end
  end
  if #keys > 0 then
    count_stays(z, t.now)
    redis.call('ZREM', INSIDE, unpack(keys))
    z.inside, z.gone = z.inside - #keys, z.gone + #keys
    t.late = #keys == ENDS and redis.call('ZCOUNT', INSIDE, '-inf', ended(t.from)) or 0
  end
  z.inside_next = z.inside > 0 and floor(tonumber(redis.call('ZRANGE', INSIDE, 0, 0, 'WITHSCORES')[2])) or 0
end

-- cap works out the room inside. While there is less than a window's worth, the rates are those of who leave.
local function cap(z, r, t)
  t.inside, t.full = z.inside - t.late + z.lost_inside, false
  t.cap = z.max_inside - t.inside
  if t.now <= z.revoked_upto or t.now < z.inside_lost_at + QUIET then
    t.cap = min(t.cap, 0)
  end
  if t.cap < r.limit and (z.mode ~= 'open' or t.hold > 0) then
    local gone, stayed = stays_of(z, t.now)
    t.full = true
    local least = max(1, floor(z.max_inside * MINUTE / (2 * z.session)))
    through(r, max(least, floor((gone + 1) * MINUTE / (stayed + z.session) * z.max_inside)))
  end
end
