-- answer_all: the answers to those of a call who poll.
--@include answer

-- stands returns where the nth of a call stands, and notes it.
local function stands(id, nth, moved)
  local arrived = tonumber(redis.call('ZSCORE', LINE, id))
  moved[#moved + 1], moved[#moved + 2] = nth, arrived
  return arrived
end

-- answer_all answers those who poll, of whom args has four strings each: see poll.lua. It
-- returns the answers, and of those whose token is late which they are and where they
-- stand: a late token may be of an earlier place, and is renewed as that of this one.
--
-- Nearly all of a crowd is far from the front, and what they cost is what a
-- million of them cost: so their answer is made here, with answer's arithmetic
-- (rates.lua) written out and what is the same for all of them done once.
-- Measured in one run with 256 visitors a call: two thirds of answer's time.
local function answer_all(z, r, t, args, first, last)
  local call, char, byte, int = redis.call, string.char, string.byte, struct.unpack
  local now, pace = t.now, r.pace
  -- Numbers, for Redis compares strings as its locale sorts words.
  local stamp, late = struct.pack('>I6', now), now - GRACE
  local queue = z.mode ~= 'open'
  local ahead = expect(z, r, t.live) + 1 - t.room
  local answers, moved, n, misses = {}, {}, 0, 0
  for i = first, last, 4 do
    local id = args[i]
    local rank = call('ZRANK', LINE, id)
    if rank and queue and rank >= t.released then
      local arrived = int('>I6', args[i + 3]) < late and stands(id, (i - first) / 4 + 1, moved) or tonumber(args[i + 2])
      local position = rank + MARK_EVERY > EXACT and round_up(t, arrived, rank) or rank + 1
      local far, est = position - 1 - t.released, DAY
      if z.passed > 0 then
        far = far * z.present / z.passed
        far = far - far % 1
      end
      if pace > 0 then
        est = ahead + far
        est = est > 0 and est * MINUTE / pace or 0
        est = est - est % 1
        if est > DAY then
          est = DAY
        end
      end
      local came = arrived / 1000
      local period = far_period(r, est, now - (came - came % 1), (byte(id, 8) + now) % 256)
      local low = period % 256
      call('HSET', SEEN .. args[i + 1], id, stamp .. char((period - low) / 256, low))
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = WAITING, position, est, period
    else
      local arrived = tonumber(args[i + 2])
      if rank and int('>I6', args[i + 3]) < late then
        arrived = stands(id, (i - first) / 4 + 1, moved)
      end
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = answer(z, r, t, id, arrived, rank, args[i + 3])
      if answers[n + 1] % 16 > ADMITTED then
        misses = misses + 1
      end
      ahead = expect(z, r, t.live) + 1 - t.room
    end
    n = n + 4
  end
  z.polls = z.polls + n / 4 - misses
  return answers, moved
end
