-- inside: how many are inside, where a zone has a cap (max_inside), as internal/embedded/inside.go has it.
--   INSIDE  zset  admission (the visitor's id, 8 bytes, and when, 6 bytes, ms, big-endian) -> until
--                 when it is inside, ms, and a half more while its session has not begun
--   OVER    zset  admission that is done -> when it was done, ms; one that came back since a loss -> when, ms, below 0
--@include flow
--@include keys
--@include zone
--@include unknown

-- As window.EndBatch.
local ENDS = 100

-- ended is the bound of a range of scores of those who are inside no longer then.
local function ended(millis) return '(' .. string.format('%.0f', millis + 1) end

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
