-- answer_all: the answers to those of a call who poll.
--@include answer

-- stands returns the arrival of a visitor in the line, the nth of the call, and notes it in moved.
local function stands(id, nth, moved)
  local arrived = joined_at(id, redis.call('ZSCORE', LINE, id))
  moved[#moved + 1], moved[#moved + 2] = nth, arrived
  return arrived
end

-- score_of is the score at which a visitor stands, or is to stand: that of the token, else of the line.
local function score_of(z, id, arrived, rank, says)
  if #says > 10 then
    return struct.unpack('>I8', says, 11)
  end
  return rank and z.draw_from > 0 and floor(arrived / 1000) < z.settles_at
    and tonumber(redis.call('ZSCORE', LINE, id)) or arrived
end

-- gathers answers a waiting visitor while people gather, without a look at the line.
local function gathers(r, t, id, key, seen)
  local period = gather_period(r, (string.byte(id, 8) + t.now) % 256)
  redis.call('HSET', key, id, struct.pack('>I6I2', t.now, period) .. string.sub(seen, 9))
  stays_live(t, id, t.now + period)
  return WAITING, 0, min(t.hold, DAY), period
end

-- answer_all answers the visitors who poll, for each of whom args has four strings: see
-- poll.lua. It returns the answers, and moved: the numbers and arrivals of visitors whose token is
-- late. A late token may be of an earlier place; the answer's token is of the present one.
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
  local queue = z.mode ~= 'open' or t.hold > 0
  local ahead = expect(z, r, t.live) + 1 - space(r, t)
  local answers, moved, n, misses = {}, {}, 0, 0
  for i = first, last, 4 do
    local id, key, says = args[i], SEEN .. args[i + 1], args[i + 3]
    local seen = t.gathers and call('HGET', key, id)
    local rank = not seen and call('ZRANK', LINE, id)
    local arrived = tonumber(args[i + 2])
    if (rank or seen) and int('>I6', says) < late then
      arrived = stands(id, (i - first) / 4 + 1, moved)
    end
    if seen then
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = gathers(r, t, id, key, seen)
    elseif rank and queue and rank >= t.released and not t.gathers then
      local tail, score = '', arrived
      if #says > 10 or z.draw_from + z.draw_behind > 0 then
        score, tail = score_of(z, id, arrived, rank, says), string.sub(call('HGET', key, id) or '', 9)
      end
      local position = rank >= EXACT and round_up(t, score, rank) or rank + 1
      local far, est = position - 1 - t.released, DAY
      local stay = far
      if z.passed > 0 then
        stay = far * z.present / z.passed
        stay = stay - stay % 1
      end
      if pace > 0 then
        est = ahead + stay
        est = est > 0 and est * MINUTE / pace or 0
        est = est - est % 1 + t.hold
        if est > DAY then
          est = DAY
        end
      end
      local came = arrived / 1000
      local period = far_period(r, far, est, now - (came - came % 1), (byte(id, 8) + now) % 256)
      local low = period % 256
      call('HSET', key, id, stamp .. char((period - low) / 256, low) .. tail)
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = WAITING, position, est, period
    else
      local score = score_of(z, id, arrived, rank, says)
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = answer(z, r, t, id, arrived, score, rank, says)
      if answers[n + 1] % 16 > ADMITTED then
        misses = misses + 1
      end
      ahead = expect(z, r, t.live) + 1 - space(r, t)
    end
    n = n + 4
  end
  z.polls = z.polls + n / 4 - misses
  return answers, moved
end
