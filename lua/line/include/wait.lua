-- wait: telling a waiting visitor how long, and when to poll.
--@include admit
--@include position
--@include gate

-- wait returns the answer to a waiting visitor who arrived then and stands at the score.
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
    redis.call('ZADD', DUE, t.now + period, id)
  else
    position = round_up(t, score, rank)
    local far = position - 1 - t.released
    est = estimate(r, expect(z, r, t.live), far, space(r, t), z.present, z.passed)
    est = min(DAY, t.hold + est)
    local jitter = (string.byte(id, 8) + t.now) % 256
    period = far_period(r, far, est, t.now - floor(arrived / 1000), jitter)
  end
  note_poll(z, t, id, period, arrived, score)
  return WAITING, position, est, period
end
