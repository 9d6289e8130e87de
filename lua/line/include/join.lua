-- join: taking a place, and giving it up.
--@include answer
--@include gate

-- straight_in reports whether a newcomer need not line up.
local function straight_in(z, r, t)
  if t.hold > 0 or t.frozen or t.released < t.waiting then
    return false
  end
  if t.live == 0 then
    return min(r.limit + z.burst - t.in_window, r.per_minute - t.in_minute) > 0
  end
  return t.live < room_in_line(z, r, t)
end

-- newcomer returns the answer to a visitor who is not known, as join does. score is that of the
-- draw, nil if the caller knows of none or of another. It adds the place in the line to places,
-- the arguments of a ZADD that line_up makes. Before it reads the line, it calls line_up.
local function newcomer(z, r, t, id, score, places, line_up)
  if z.mode == 'closed' then
    return CLOSED, 0, 0, 0, 0, 0
  end
  local drawn = draws(z, t.now)
  if drawn and not scores(z, score) then
    return UNDRAWN, 0, 0, 0, 0, 0
  end
  if z.epoch == 0 and t.waiting == 0 and t.now >= z.heal_until then
    z.epoch = epoch_of(z.now_micros)
  end
  local arrived = max(z.now_micros, z.last_micros + 1)
  arrived = drawn and arrived or behind(z, arrived)
  if t.hold == 0 and z.mode == 'open' or straight_in(z, r, t) then
    z.last_micros, z.joined = arrived, z.joined + 1
    local status, at, expiry = admit(z, r, t, id, arrived, false)
    return status, at, expiry, 0, arrived, 0
  end
  if z.max_waiting > 0 and t.waiting >= z.max_waiting then
    return FULL, 0, 0, 0, 0, 0
  end
  z.last_micros, z.joined = arrived, z.joined + 1
  -- The newest arrival stands last in the line, unless a draw gave it a score.
  score = drawn and score or arrived
  local text = string.format('%.0f', score)
  places[#places + 1], places[#places + 2] = text, id
  t.waiting = t.waiting + 1
  if score <= z.edge_micros then -- drawn, where people were let in before
    t.released = t.released + 1
  end
  mark_newcomer(z, t, text)
  if t.waiting > (t.open or 0) and t.waiting > EXACT then
    line_up()
  end
  local status, position, est, period = wait(z, r, t, id, arrived, score, t.waiting - 1, nil)
  return status, position, est, period, arrived, 0
end

-- join returns the answer to a visitor who joins and may be known: as answer does, then the
-- arrival and which of the ids it is known under. ids are those under which it may have a
-- place, its own first. A visitor whose admission has expired is a newcomer.
local function join(z, r, t, ids, score, places, line_up)
  for i = 1, #ids, 8 do
    local id = string.sub(ids, i, i + 7)
    local rank, which = redis.call('ZRANK', LINE, id), floor(i / 8)
    if rank then
      local at = tonumber(redis.call('ZSCORE', LINE, id))
      local arrived = joined_at(id, at)
      local status, a, b, c = answer(z, r, t, id, arrived, at, rank)
      return status, a, b, c, arrived, which
    end
    local at = admitted_at(z, t, id)
    if at then
      return BEFORE, at, expires(z, at), 0, min(at * 1000, z.last_micros), which
    end
  end
  return newcomer(z, r, t, string.sub(ids, 1, 8), score, places, line_up)
end

-- leave gives up the visitor's place, if it has one.
local function leave(z, t, id, arrived)
  local rank = redis.call('ZRANK', LINE, id)
  if forget(z, t, id, arrived, rank and rank < t.released) then
    z.left = z.left + 1
  end
  return NOBODY, 0, 0, 0
end
