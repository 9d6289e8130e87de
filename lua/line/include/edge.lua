-- edge: who is released, and who of them is live.
--@include rates
--@include place

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
  local seen = redis.call('HGET', bucket(arrived), id)
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
    local next_ones = redis.call('ZRANGEBYSCORE', LINE, from, '(inf', 'WITHSCORES', 'LIMIT', looked, want)
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
