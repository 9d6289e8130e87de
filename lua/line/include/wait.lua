-- wait: telling a waiting visitor how long, and when to poll.
--@include admit
--@include position

local function wait(z, r, t, id, arrived, rank, live_rank)
  local est, period
  local position = rank + 1
  if live_rank then
    local opens_in = opens(z, r, t, expect(z, r, live_rank)) - t.now
    est = min(opens_in, DAY)
    period = appointment_period(z, r, opens_in)
    redis.call('ZADD', DUE, t.now + period, id)
  else
    position = round_up(t, arrived, rank)
    est = estimate(r, expect(z, r, t.live), position - 1 - t.released, t.room, z.present, z.passed)
    local jitter = (string.byte(id, 8) + t.now) % 256
    period = far_period(r, est, t.now - floor(arrived / 1000), jitter)
  end
  redis.call('HSET', bucket(id), id, struct.pack('>I6I2', t.now, period))
  return WAITING, position, est, period
end
