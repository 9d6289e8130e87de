-- begin: what every call does to a zone before it looks at anybody.
--@include rates
--@include zone
--@include edge
--@include gate
--@include loss

-- refill counts the admissions in the window and the minute. An admission that is exactly as
-- old as the span still counts.
local function refill(z, r, t)
  t.lost_minute, t.logged_minute = since(z, t.now - MINUTE)
  t.lost_window, t.logged_window = 0, 0
  if t.lost_minute + t.logged_minute > 0 then
    t.lost_window, t.logged_window = since(z, t.now - r.window)
  end
  t.in_window = t.lost_window + t.logged_window
  t.in_minute = t.lost_minute + t.logged_minute
  if z.max_inside > 0 then
    cap(z, r, t)
  end
  t.room = t.hold > 0 and 0 or min(r.limit - t.in_window, r.per_minute - t.in_minute, t.cap)
end

-- count_second counts the admissions of the last second, once a call.
local function count_second(z, t)
  if not t.logged_second then
    t.lost_second, t.logged_second = since(z, t.now - SECOND)
  end
end

-- room_in_line is how many visitors of the line may enter now: the limit of a second holds, too.
local function room_in_line(z, r, t)
  if t.room <= 0 or r.per_second == r.limit then
    return t.room
  end
  count_second(z, t)
  return min(t.room, r.per_second - t.lost_second - t.logged_second)
end

-- begin moves the clock and the edge on. The clock should show expected by then; nil if nobody is admitted.
-- It returns t, what the rest of the call knows of this moment.
local function begin(z, r, override, expected)
  local t = { before = floor(z.now_micros / 1000), now = tick(z, override), waits = {}, rounded = {} }
  t.inside, t.cap = 0, DAY
  check_master(z, r, t.now, t.before)
  check_step(z, r, t.now, tonumber(expected or 0))
  hold(z, t)
  if z.max_inside > 0 then
    end_stays(z, t)
  end
  refill(z, r, t)
  t.waiting, t.live = redis.call('ZCARD', LINE) - 1, redis.call('ZCARD', LIVE) - 1
  t.released = t.waiting > 0 and redis.call('ZCOUNT', LINE, '-inf', string.format('%.0f', z.edge_micros)) or 0
  if t.gathers then
    return t
  end
  t.frozen = t.now < z.freeze and (z.healed ~= 0 or t.now <= z.lost_at + r.window)
  if t.live > 0 then
    take_off_late(z, r, t)
  end
  local target = r.target
  if t.frozen then
    target = min(target, back(r, t.now - (z.freeze - FREEZE)) - z.admitted + z.froze_at)
  end
  move_edge(z, r, t, target)
  return t
end

-- keep_earlier has the admission of one who is admitted again within the minute count on, under a
-- name that no visitor has: the pass has expired, or another server did not know of it.
local function keep_earlier(t, id)
  local earlier = redis.call('ZSCORE', LOG, id)
  if earlier and tonumber(earlier) >= t.now - MINUTE then
    redis.call('ZADD', LOG, earlier, id .. earlier)
  end
end
