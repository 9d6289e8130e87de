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
  local byte, pack, format = string.byte, struct.pack, string.format
  local n, arrived, barrier = #answers, z.last_micros, drawn and 0 or max(z.draw_behind, z.draw_upto)
  local told, est, base, longest, part, fields
  for i = first, last do
    local id = ids[i]
    arrived = max(z.now_micros, arrived + 1)
    if arrived < barrier then
      arrived = behind(z, arrived)
    end
    local score = drawn or arrived
    local text, places = format('%d', score), t.places
    local p = #places
    places[p + 1], places[p + 2] = text, id
    t.waiting = t.waiting + 1
    if score <= z.edge_micros then -- drawn, where people were let in before
      t.released = t.released + 1
    end
    mark_newcomer(z, t, text)
    if t.waiting > (t.open or 0) and t.waiting > EXACT then
      line_up(t)
      part = nil
    end
    local position, jitter, period = 0, (byte(id, 8) + t.now) % 256
    if t.gathers then
      est, period = min(t.hold, DAY), gather_period(r, jitter)
    else
      position = round_up(t, score, t.waiting - 1)
      if position ~= told then
        local far = position - 1 - t.released
        told, est = position, far_wait(z, r, t, far)
        base, longest = far_base(r, far, est, 0)
      end
      period = base * (896 + jitter) / 1024
      period = period < longest and period - period % 1 or longest
    end
    local seen = pack('>I6I2', t.now, period)
    if drawn then
      seen = seen .. pack('>I8', arrived)
    end
    local its = part_of(score)
    if its ~= part then
      part = its
      fields = t.polls[SEEN .. part] or {}
      t.polls[SEEN .. part] = fields
    end
    local f = #fields
    fields[f + 1], fields[f + 2] = id, seen
    answers[n + 1], answers[n + 2], answers[n + 3] = WAITING, position, est
    answers[n + 4], answers[n + 5], answers[n + 6] = period, arrived, 0
    n = n + 6
  end
  z.last_micros, z.joined = arrived, z.joined + last - first + 1
end
