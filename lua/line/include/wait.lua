-- wait: telling a waiting visitor how long, and when to poll.
--@include admit
--@include period
--@include position
--@include gate

-- far_wait returns the estimate for a visitor beyond the edge who has so many ahead there.
local function far_wait(z, r, t, far)
  local est = estimate(r, expect(z, r, t.live), far, space(r, t), z.present, z.passed)
  return min(DAY, t.hold + est)
end

-- wait returns the answer to a waiting visitor who arrived then and stands at the score. Whoever
-- calls it notes the poll.
local function wait(z, r, t, id, arrived, score, rank, live_rank)
  local est, period
  local position = rank + 1
  if t.gathers then
    position, est, period = 0, min(t.hold, DAY), gather_period(r, (string.byte(id, 8) + t.now) % 256)
    stays_live(t, id, t.now + period)
  elseif live_rank then
    local opens_in = opens(z, r, t, expect(z, r, live_rank)) - t.now
    est = min(opens_in, DAY)
    period = appointment_period(z, r, opens_in)
    if t.full and live_rank < reach(r, 1) then
      period = min(period, FRONT)
    end
    redis.call('ZADD', DUE, t.now + period, id)
  else
    position = round_up(t, score, rank)
    local far = position - 1 - t.released
    est = far_wait(z, r, t, far)
    local jitter = (string.byte(id, 8) + t.now) % 256
    period = far_period(r, far, est, t.now - floor(arrived / 1000), jitter)
  end
  return WAITING, position, est, period
end
