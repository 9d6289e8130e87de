-- line_up: places at the end of the line.
--@include wait

-- line_up writes the places and the first polls that take has left in t: in t.places the
-- arguments of a ZADD, in t.polls the fields of each seen bucket.
local function line_up(t)
  if #t.places > 2 then
    redis.call(unpack(t.places))
  end
  for key, fields in pairs(t.polls) do
    redis.call('HSET', key, unpack(fields))
  end
  t.places, t.polls = { 'ZADD', LINE }, {}
end

-- take gives ids[first] to ids[last], who are not known, places at the end of the line, and adds what
-- they are told to answers. To one alone, a draw may have given a score instead. What take leaves
-- to line_up is written before anything else looks at the line.
--
-- Nearly all who join in a rush come here. What is the same for those who are told the same
-- position is done once.
local function take(z, r, t, ids, first, last, drawn, answers)
  local byte, pack, format, now = string.byte, struct.pack, string.format, t.now
  local n, p, f, waiting, unmarked = #answers, #t.places, nil, t.waiting, z.unmarked
  local arrived, barrier = z.last_micros, drawn and 0 or max(z.draw_behind, z.draw_upto)
  local told, est, base, longest, number, fields
  for i = first, last do
    local id, rank, position, period = ids[i], waiting, 0
    arrived = max(z.now_micros, arrived + 1)
    if arrived < barrier then
      arrived = behind(z, arrived)
    end
    local score = drawn or arrived
    local text = format('%d', score)
    t.places[p + 1], t.places[p + 2] = text, id
    p, waiting, unmarked = p + 2, waiting + 1, unmarked + 1
    if unmarked == MARK_EVERY then
      unmarked = 0
      mark(t, text)
    end
    if score <= z.edge_micros then -- drawn where people were admitted before; or the clock was set back
      t.released, told = t.released + 1, nil
    end
    local jitter = (byte(id, 8) + now) % 256
    if t.gathers then
      est, period = min(t.hold, DAY), gather_period(r, jitter)
    else
      if rank < EXACT then
        position = rank + 1
      elseif t.open and rank < t.open and score > t.open_after then
        position = t.open
      else
        t.waiting = waiting
        line_up(t)
        p, number = #t.places, nil -- fields are written, and no longer those of t.polls
        position = round_up(t, score, rank)
      end
      if position ~= told then
        local far = position - 1 - t.released
        told, est = position, far_wait(z, r, t, far)
        base, longest = far_base(r, far, est, 0)
      end
      period = base * (896 + jitter) / 1024
      period = period < longest and period - period % 1 or longest
    end
    local seen, its = pack('>I6I2', now, period), bucket_number(score)
    if drawn then
      seen = seen .. pack('>I8', arrived)
    end
    if its ~= number then
      local key = SEEN .. its
      number, fields = its, t.polls[key] or {}
      t.polls[key], f = fields, #fields
    end
    fields[f + 1], fields[f + 2] = id, seen
    if its < z.swept_to then
      z.seen = z.seen + 1
    end
    f = f + 2
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5] =
      WAITING, position, est, period, arrived
    n = n + 5
  end
  t.waiting, z.unmarked, z.last_micros, z.joined = waiting, unmarked, arrived, z.joined + last - first + 1
end
