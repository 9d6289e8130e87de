-- begin: what every call does to a zone before it looks at anybody.
--@include rates
--@include zone
--@include place
--@include loss
--@include gate

-- refill counts the admissions in the window and the minute. An admission that is exactly as
-- old as the span still counts.
local function refill(z, r, t)
  t.lost_window, t.logged_window = since(z, t.now - r.window)
  t.lost_minute, t.logged_minute = since(z, t.now - MINUTE)
  t.in_window = t.lost_window + t.logged_window
  t.in_minute = t.lost_minute + t.logged_minute
  t.room = t.hold > 0 and 0 or min(r.limit - t.in_window, r.per_minute - t.in_minute)
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

-- take_off_late ends the liveness of those who missed their appointment.
local function take_off_late(z, r, t)
  local late = redis.call('ZRANGEBYSCORE', DUE, '-inf', '(' .. string.format('%.0f', t.now - GRACE), 'LIMIT', 0, STEP)
  if #late == 0 then
    return
  end
  redis.call('ZREM', DUE, unpack(late))
  redis.call('ZREM', LIVE, unpack(late))
  t.live = t.live - #late
  z.present = max(0, z.present - #late)
  for _ = 1, #late do
    z.missed = z.missed + 1
    age(z, r)
  end
end

-- release takes the edge to one visitor.
local function release(z, r, t, id, arrived)
  z.edge_micros = tonumber(arrived)
  z.passed = z.passed + 1
  local seen = redis.call('HGET', bucket(id), id)
  if seen then
    local polled, period = struct.unpack('>I6I2', seen)
    if polled + period + GRACE >= t.now then
      z.present = z.present + 1
      enliven(t, id, arrived, polled + period)
    end
  end
  if z.passed >= max(64, 4 * r.limit) then
    z.passed, z.present = floor(z.passed / 2), floor(z.present / 2)
  end
end

-- move_edge releases visitors until enough are live. A visitor whose arrival equals that of
-- the one before is released along with it, without a look at its last poll. Equal arrivals
-- come about when the clock is set back between two lines that are lost.
local function move_edge(z, r, t, target)
  if t.released == t.waiting then
    return
  end
  local from, looked, n = '(' .. string.format('%.0f', z.edge_micros), 0, 0
  local enough = expect(z, r, t.live) >= target
  while not enough and n < STEP do
    local want = min(STEP, max(8, target - t.live))
    local next_ones = redis.call('ZRANGEBYSCORE', LINE, from, '+inf', 'WITHSCORES', 'LIMIT', looked, want)
    for i = 1, #next_ones, 2 do
      if tonumber(next_ones[i + 1]) ~= z.edge_micros then
        enough = enough or n == STEP or expect(z, r, t.live) >= target
        if enough then
          break
        end
        n = n + 1
        release(z, r, t, next_ones[i], next_ones[i + 1])
      end
    end
    looked = looked + want
    enough = enough or #next_ones < 2 * want
  end
  t.released = redis.call('ZCOUNT', LINE, '-inf', string.format('%.0f', z.edge_micros))
end

-- look moves the clock on. It returns t, what the rest of the call knows of this moment.
local function look(z, r, override)
  local t = { before = floor(z.now_micros / 1000), now = tick(z, override), waits = {}, rounded = {} }
  check_master(z, r, t.now, t.before)
  hold(z, t)
  refill(z, r, t)
  t.waiting, t.live = redis.call('ZCARD', LINE), redis.call('ZCARD', LIVE)
  t.released = redis.call('ZCOUNT', LINE, '-inf', string.format('%.0f', z.edge_micros))
  return t
end

-- begin moves the clock and the edge on. It returns t, as look does.
local function begin(z, r, override)
  local t = look(z, r, override)
  if t.gathers then
    return t
  end
  t.frozen = t.now < z.freeze and (z.healed ~= 0 or t.now <= z.lost_at + r.window)
  take_off_late(z, r, t)
  local target = r.target
  if t.frozen then
    target = min(target, back(r, t.now - (z.freeze - FREEZE)) - z.admitted)
  end
  move_edge(z, r, t, target)
  return t
end
