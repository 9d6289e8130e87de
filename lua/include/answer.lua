-- answer: the loop over a call's visitors, and the reply.

-- stands is where a visitor stands whose token is late: it may be of an earlier
-- place. The caller is told, so that the token is renewed as the place's.
local moved = {}
local function stands(id, nth)
  local arrived = tonumber(redis.call('ZSCORE', LINE, id))
  moved[#moved + 1], moved[#moved + 2] = nth, arrived
  return arrived
end

-- poll_all answers those who poll.
--
-- Nearly all of a crowd is far from the front, and what they cost is what a
-- million of them cost: so their answer is made here, with poll's arithmetic
-- (rates.lua) written out and what is the same for all of them done once.
-- Measured in one run with 256 visitors a call: two thirds of poll's time.
local function poll_all(answers, first, last)
  local call, char, byte = redis.call, string.char, string.byte
  local now, per_minute = t.now, r.per_minute
  local stamp, late = struct.pack('>I6', now), struct.pack('>I6', now - GRACE)
  local queue = z.mode ~= 'open'
  local ahead = expect(z, r, t.live) + 1 - t.room
  local n, misses = 0, 0
  for i = first, last, 4 do
    local id = ARGV[i]
    local rank = call('ZRANK', LINE, id)
    if rank and queue and rank >= t.released then
      local arrived = ARGV[i + 3] < late and stands(id, (i - first) / 4 + 1) or tonumber(ARGV[i + 2])
      local position = rank + MARK_EVERY > EXACT and round_up(t, arrived, rank) or rank + 1
      local far, est = position - 1 - t.released, DAY
      if z.passed > 0 then
        far = far * z.present / z.passed
        far = far - far % 1
      end
      if per_minute > 0 then
        est = ahead + far
        est = est > 0 and est * MINUTE / per_minute or 0
        est = est - est % 1
        if est > DAY then
          est = DAY
        end
      end
      local came = arrived / 1000
      local period = far_period(r, est, now - (came - came % 1), (byte(id, 8) + now) % 256)
      local low = period % 256
      call('HSET', SEEN .. ARGV[i + 1], id, stamp .. char((period - low) / 256, low))
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = WAITING, position, est, period
    else
      local arrived = tonumber(ARGV[i + 2])
      if rank and ARGV[i + 3] < late then
        arrived = stands(id, (i - first) / 4 + 1)
      end
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = poll(id, arrived, rank, ARGV[i + 3])
      if answers[n + 1] % 16 > ADMITTED then
        misses = misses + 1
      end
      ahead = expect(z, r, t.live) + 1 - t.room
    end
    n = n + 4
  end
  z.polls = z.polls + n / 4 - misses
end

local polls = 5 + 3 * ARGV[2]
local others = polls + 4 * ARGV[4]
local missed = glance_all(tonumber(ARGV[2]), tonumber(ARGV[3]))
local answers, waits = {}, {}
poll_all(answers, polls, others - 1)
local n = #answers
for i = others, #ARGV, 2 do
  local op, what = ARGV[i], ARGV[i + 1]
  if op == 'j' then
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5], answers[n + 6] = join(what)
    n = n + 6
  elseif op == 'l' then
    local id, arrived = string.sub(what, 1, 8), tonumber(string.sub(what, 9))
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = leave(id, arrived)
    n = n + 4
  else
    local est = estimate(r, expect(z, r, t.live), t.waiting - t.released, t.room, z.present, z.passed)
    for _, total in ipairs(TOTALS) do
      n = n + 1
      answers[n] = z[total]
    end
    n = n + 1
    answers[n] = est
    waits = nil
  end
end
save_zone(ZONE, z)
for b, count in pairs(t.waits) do
  redis.call('HINCRBY', WAITS, b, count)
end

return {
  0,
  {
    t.now, z.edge_micros, z.last_micros, t.waiting, t.released, t.live,
    t.in_window, t.in_minute, r.limit, z.passed, z.present, z.epoch,
    max(0, z.heal_until - HEAL), z.set_micros, z.ahead_micros,
  },
  answers,
  missed,
  t.rounded,
  { expect(z, r, t.live), t.room, z.per_minute, r.cap },
  moved,
  waits or redis.call('HGETALL', WAITS),
}
