-- answer_all: the answers to those of a call who poll.
--@include answer
--@include come_back
--@include period

-- look_up returns where those stand of whom args has a string each, nil for whom the line has not, and
-- in which order to answer them: as given, but who shows the token of an earlier place than its own
-- comes last, for the first in the line are given first (poll.go).
local function look_up(args, first, last)
  local ids, order, later = {}, {}, {}
  for i = first, last do
    ids[#ids + 1] = string.sub(args[i], 2, 9)
  end
  local stand = #ids > 0 and redis.call('ZMSCORE', LINE, unpack(ids)) or ids
  for nth = 1, #ids do
    local arg, score = args[first + nth - 1], tonumber(stand[nth] or '')
    local list = score and struct.unpack('>I8', arg, #arg > 27 and 28 or 10) < score and later or order
    list[#list + 1], stand[nth] = nth, score
  end
  for _, nth in ipairs(later) do
    order[#order + 1] = nth
  end
  return stand, order
end

-- gathers answers a waiting visitor while people gather, without a look at the line.
local function gathers(r, t, id, arrived, score)
  local period = gather_period(r, (string.byte(id, 8) + t.now) % 256)
  note_poll(t, id, period, arrived, score)
  stays_live(t, id, t.now + period)
  return WAITING, 0, min(t.hold, DAY), period
end

-- answer_all answers the visitors who poll, for each of whom args has a string: see poll.lua.
-- It returns the answers, and moved: the numbers and arrivals of visitors whose token is
-- late, or of before a draw, and does not name where they stand. A late token may be of an earlier place;
-- the answer's token is of the present one.
--
-- Nearly all of a crowd is far from the front, and what they cost is what a
-- million of them cost: so their answer is made here, with answer's arithmetic
-- (rates.lua, period.lua) written out and what is the same for all of them done once.
-- Measured in one run with 256 visitors a call: two thirds of answer's time.
local function answer_all(z, r, t, args, first, last)
  local call, char, byte, int = redis.call, string.char, string.byte, struct.unpack
  local now, pace = t.now, r.pace
  -- Numbers, for Redis compares strings as its locale sorts words.
  local stamp, late = struct.pack('>I6', now), now - GRACE
  local queue = z.mode ~= 'open' or t.hold > 0
  local before = now >= z.gather_at and z.draw_from or 0 -- as aside.outdated
  local ahead = expect(z, r, t.live) + 1 - space(r, t)
  local answers, moved, misses = {}, {}, 0
  local stand, order = look_up(args, first, last)
  for _, nth in ipairs(order) do
    local i, n = first + nth - 1, 4 * nth - 4
    local id, arrived, due, epoch = int('>c8I8I6I4', args[i], 2)
    -- Whoever is twice in the call may have been put back meanwhile, or have gone.
    local score = stand[nth] or tonumber(call('ZSCORE', LINE, id) or '') or aside.come_back(z, t, id)
    local undrawn, anew = false, nil
    if score and score < before then
      anew, score = aside.place_anew(z, t, id, arrived, score, #args[i] > 27 and int('>I8', args[i], 28))
      undrawn, arrived = not anew, anew or arrived
      ahead = expect(z, r, t.live) + 1 - space(r, t)
    end
    local rank = score and not t.gathers and call('ZRANK', LINE, id)
    if not anew and (rank or score and t.gathers) and (due < late or arrived < before) and arrived ~= score then
      anew = joined_at(id, score)
      arrived = anew
    end
    if undrawn then
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = UNDRAWN, 0, 0, 0
      misses = misses + 1
    elseif score and t.gathers then
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = gathers(r, t, id, arrived, score)
    elseif rank and queue and rank >= t.released then
      local key = bucket(score)
      local tail = arrival_kept(key, id, arrived, score)
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
      local its
      answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], its =
        answer(z, r, t, id, arrived, score or #args[i] > 27 and int('>I8', args[i], 28) or arrived, rank, due, epoch)
      anew = its or anew
      if answers[n + 1] % 16 > ADMITTED then
        misses = misses + 1
      end
      ahead = expect(z, r, t.live) + 1 - space(r, t)
    end
    if anew then
      moved[#moved + 1], moved[#moved + 2] = nth, anew
    end
  end
  z.polls = z.polls + #order - misses
  return answers, moved
end
