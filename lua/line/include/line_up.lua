-- line_up: taking a place at the end of the line.
--
-- In a rush nearly all who join take a place. So places and first polls are gathered, and written with few
-- commands by write_places: before anything else looks at the line, and at the end.
--@include wait
--@include anew

-- What is gathered: the arguments of a ZADD; and of each seen bucket, by its key, those of an HSET.
local places, polls = { 'ZADD', LINE }, {}
-- The seen bucket of the latest newcomer, and what is gathered for it.
local number, fields
-- What the latest newcomer was told: the position, nil if it must be worked out anew, the estimate, and what
-- far_base returns of the period.
local position, wait_told, base, longest

local format, byte, binary = string.format, string.byte, struct.pack

-- write_places writes what was gathered.
local function write_places()
  if #places > 2 then
    redis.call(unpack(places))
  end
  for key, its in pairs(polls) do
    redis.call('HSET', key, unpack(its))
  end
  places, polls, number, position = { 'ZADD', LINE }, {}, nil, nil
end

-- arrive counts a newcomer, and returns its arrival; drawn: the draw gives it a score.
local function arrive(z, drawn)
  z.joined = z.joined + 1
  return aside.arrives(z, drawn)
end

-- gather_place gathers the place of a newcomer.
local function gather_place(z, t, id, score)
  local n, text = #places, format('%d', score)
  places[n + 1], places[n + 2] = text, id
  t.waiting, z.unmarked = t.waiting + 1, z.unmarked + 1
  if z.unmarked == MARK_EVERY then
    z.unmarked = 0
    mark(t, text)
  end
  if score <= z.edge_micros then -- drawn where people were admitted before; or the clock was set back
    t.released, position = t.released + 1, nil
  end
end

-- gather_poll gathers the first poll of a newcomer: what its seen bucket has of it.
local function gather_poll(z, id, score, seen)
  local its = bucket_number(score)
  if its ~= number then
    local key = SEEN .. its
    number, fields = its, polls[key] or {}
    polls[key] = fields
  end
  local n = #fields
  fields[n + 1], fields[n + 2] = id, seen
  if its < z.swept_to then
    z.seen = z.seen + 1
  end
end

-- tell_newcomer returns the position, the estimate and the period that a newcomer is told, who is the last in the
-- line. What follows from a position is worked out once for all who are told it.
local function tell_newcomer(z, r, t, id, score)
  local jitter = (byte(id, 8) + t.now) % 256
  if t.gathers then
    return 0, min(t.hold, DAY), gather_period(r, jitter)
  end
  local rank = t.waiting - 1
  local its = rank < EXACT and rank + 1 or position_at_hand(t, score, rank)
  if not its then
    write_places()
    its = round_up(t, score, rank)
  end
  if its ~= position then
    local far = its - 1 - t.released
    position, wait_told = its, far_wait(z, r, t, far)
    base, longest = far_base(r, far, wait_told, 0)
  end
  return position, wait_told, jittered(base, longest, jitter)
end

-- line_up gives a newcomer a place at the end of the line; drawn: where the draw says. It returns the answer.
local function line_up(z, r, t, id, drawn)
  local arrived = arrive(z, drawn)
  local score = drawn or arrived
  gather_place(z, t, id, score)
  local at, wait_for, period = tell_newcomer(z, r, t, id, score)
  local seen = binary('>I6I2', t.now, period)
  gather_poll(z, id, score, drawn and seen .. binary('>I8', arrived) or seen)
  return WAITING, at, wait_for, period, arrived
end
