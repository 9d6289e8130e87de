-- join: taking a place, and giving it up.
--@include answer
--@include line_up

-- straight_in reports whether a newcomer need not line up.
local function straight_in(z, r, t)
  if t.hold > 0 or t.frozen or t.released < t.waiting then
    return false
  end
  if t.live == 0 then
    return min(r.limit + z.burst - t.in_window, r.per_minute - t.in_minute, t.cap) > 0
  end
  return t.live < room_in_line(z, r, t)
end

-- all_line_up reports whether every newcomer takes a place, and none is refused or let in, until the
-- line is full or one who is known is answered.
local function all_line_up(z, r, t)
  return z.mode ~= 'closed' and not draws(z, t.now) and (t.hold > 0 or z.mode ~= 'open') and not straight_in(z, r, t)
end

-- newcomer adds the answer to the visitor ids[i], who is not known, as join does. score is that of
-- the draw, nil if the caller knows of none or of another.
local function newcomer(z, r, t, ids, i, score, answers)
  local function tell(status, a, b, arrived)
    local n = #answers
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5] = status, a, b, 0, arrived
  end
  local drawn = draws(z, t.now)
  if z.mode == 'closed' then
    return tell(CLOSED, 0, 0, 0)
  elseif drawn and not scores(z, score) then
    return tell(UNDRAWN, 0, 0, 0)
  end
  if t.hold == 0 and z.mode == 'open' or straight_in(z, r, t) then
    local arrived = max(z.now_micros, z.last_micros + 1)
    arrived = drawn and arrived or behind(z, arrived)
    z.last_micros, z.joined = arrived, z.joined + 1
    local status, at, expiry = admit(z, r, t, ids[i], arrived, false)
    tell(status, at, expiry, arrived)
  elseif z.max_waiting > 0 and t.waiting >= z.max_waiting then
    tell(FULL, 0, 0, 0)
  else
    take(z, r, t, ids, i, i, drawn and score, answers)
  end
end

-- join adds the answer to the visitor ids[i], who joins and may be known: as answer returns it, then
-- the arrival. A visitor whose admission has expired is a newcomer.
local function join(z, r, t, score, ids, i, answers)
  local n, id = #answers, ids[i]
  local rank = redis.call('ZRANK', LINE, id)
  local at, expires
  if not rank then
    at, expires = good_pass(z, t, id)
  end
  if rank then
    local stands = tonumber(redis.call('ZSCORE', LINE, id))
    local arrived = joined_at(id, stands)
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = answer(z, r, t, id, arrived, stands, rank)
    answers[n + 5] = arrived
  elseif at then
    answers[n + 1], answers[n + 2], answers[n + 3] = BEFORE, at, expires
    answers[n + 4], answers[n + 5] = 0, min(at * 1000, z.last_micros)
  else
    newcomer(z, r, t, ids, i, score, answers)
  end
end

-- leave gives up the visitor's place, if it has one, or ends its latest admission. admitted is when
-- that was, 0 if the token does not say it.
local function leave(z, t, id, arrived, admitted)
  local rank = redis.call('ZRANK', LINE, id)
  if forget(z, t, id, arrived, rank and rank < t.released) then
    z.left = z.left + 1
  elseif not rank and z.max_inside > 0 then
    local at = max(admission(redis.call('ZSCORE', LOG, id)), admitted)
    if at > 0 then
      done(z, t, id, at)
    end
  end
  return NOBODY, 0, 0, 0
end
