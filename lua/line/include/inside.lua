-- inside: how many are inside, where a zone has a cap (max_inside), as internal/embedded/inside.go has it.
--   INSIDE  zset  admission (the visitor's id, 8 bytes, and when, 6 bytes, ms, big-endian) -> until
--                 when it is inside, ms, and a half more while its session has not begun
--   OVER    zset  admission that is done -> when it was done, ms
--   ZONE    lost_steps  until when phantoms are inside, the earliest first: "ends count " for each step
--@include flow
--@include keys
--@include zone

-- As window.EndBatch; and where stays are counted.
local ENDS, STAYS = 100, 1000

-- ended is the bound of a range of scores of those who are inside no longer then.
local function ended(millis) return '(' .. string.format('%.0f', millis + 1) end

-- stays_of returns how many have left, how long those inside have stayed, and since when, as window.Stays.To has them.
local function stays_of(z, now)
  local gone, stayed, since = z.gone, z.stayed, z.stays_since
  if z.stays_at == 0 then
    return gone, stayed, now
  end
  stayed = stayed + z.inside * (now - z.stays_at)
  if now - since >= 2 * MINUTE then
    return floor(gone / 2), floor(stayed / 2), now
  end
  return gone, stayed, since
end

-- count_stays has them count up to now.
local function count_stays(z, now)
  z.gone, z.stayed, z.stays_since = stays_of(z, now)
  z.stays_at = now
end

-- count_stay counts how long one has been inside.
local function count_stay(z, millis)
  z.has_waits = 1
  redis.call('HINCRBY', WAITS, STAYS + wait_bucket(millis), 1)
end

-- unheard_of is how many may have been admitted, before a loss, beside so many who are known to have been inside.
local function unheard_of(z, known)
  return z.mode == 'open' and z.lost_limit or min(z.lost_limit, max(0, z.max_inside - known))
end

-- lose_inside takes in that so many may be inside until those times, of whom nothing else is known.
local function lose_inside(z, steps)
  local all = {}
  for ends, n in string.gmatch(redis.call('HGET', ZONE, 'lost_steps') or '', '(%d+) (%d+) ') do
    all[#all + 1] = { tonumber(ends), tonumber(n) }
  end
  for _, step in ipairs(steps) do
    all[#all + 1], z.lost_inside = step[2] > 0 and step or nil, z.lost_inside + step[2]
  end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  for i, step in ipairs(all) do
    all[i] = string.format('%.0f %.0f ', step[1], step[2])
  end
  redis.call('HSET', ZONE, 'lost_steps', table.concat(all))
  z.lost_next = tonumber(string.match(all[1] or '0', '^%d+'))
end

-- end_phantoms takes off the phantoms that are inside no longer.
local function end_phantoms(z, from)
  if z.lost_next == 0 or z.lost_next > from then
    return
  end
  local text, at = redis.call('HGET', ZONE, 'lost_steps') or '', 1
  z.lost_next = 0
  for ends, n, after in string.gmatch(text, '(%d+) (%d+) ()') do
    if tonumber(ends) > from then
      z.lost_next = tonumber(ends)
      break
    end
    local known = min(z.lost_back, tonumber(n))
    z.lost_back, z.lost_inside, at = z.lost_back - known, z.lost_inside - tonumber(n) + known, after
  end
  redis.call('HSET', ZONE, 'lost_steps', string.sub(text, at))
end

-- end_stays takes off those whose time is over.
local function end_stays(z, t)
  t.from, t.late = t.now < z.quiet_until and z.quiet_at or t.now, 0
  end_phantoms(z, t.from)
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
      count_stay(z, ends - struct.unpack('>I6', due[i], 9))
    end
  end
  if #keys > 0 then
    count_stays(z, t.now)
    redis.call('ZREM', INSIDE, unpack(keys))
    z.inside, z.gone = z.inside - #keys, z.gone + #keys
    t.late = #keys == ENDS and redis.call('ZCOUNT', INSIDE, '-inf', ended(t.from)) or 0
  end
  z.inside_next = floor(tonumber(redis.call('ZRANGE', INSIDE, 0, 0, 'WITHSCORES')[2] or 0))
end

-- cap works out the room inside. While there is less than a window's worth, the rates are those of who leave.
local function cap(z, r, t)
  t.inside, t.full = z.inside - t.late + z.lost_inside, false
  t.cap = z.max_inside - t.inside
  if t.now <= z.revoked_upto or z.inside_lost_at > 0 and t.now < z.inside_lost_at + QUIET then
    t.cap = min(t.cap, 0)
  end
  if t.cap < r.limit and (z.mode ~= 'open' or t.hold > 0) then
    local gone, stayed = stays_of(z, t.now)
    t.full = true
    local least = max(1, floor(z.max_inside * MINUTE / (2 * z.session)))
    through(r, max(least, floor((gone + 1) * MINUTE / (stayed + z.session) * z.max_inside)))
  end
end
