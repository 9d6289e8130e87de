-- join: taking a place, and giving it up.
--@include answer
--@include come_back
--@include line_up

-- straight_in reports whether a newcomer need not line up, while all who wait are released.
local function straight_in(z, r, t)
  if t.frozen then
    return false
  elseif t.live == 0 then
    return min(r.limit + z.burst - t.in_window, r.per_minute - t.in_minute, t.cap) > 0
  end
  return t.live < room_in_line(z, r, t)
end

-- too_long returns how long a newcomer at the end of the line would wait, in ms, if that is more than the zone allows;
-- else nil. The time until an event opens does not count. While people gather they have no order, and while the zone is
-- paused no wait can be expected.
local function too_long(z, r, t)
  if z.max_wait == 0 or t.gathers or r.per_minute == 0 then
    return nil
  end
  local wait_for = far_wait(z, r, t, t.waiting - t.released) - t.hold
  return wait_for > z.max_wait and wait_for or nil
end

-- newcomer answers one who has no place and was not admitted, or whose admission has expired. score is that of
-- the draw, nil if the caller knows of none or of another. It returns the status, three numbers as answer does,
-- and the arrival.
local function newcomer(z, r, t, id, score)
  if z.mode == 'closed' then
    return CLOSED, 0, 0, 0, 0
  end
  local drawn = t.draws
  if drawn and not scores(z, score) then
    return UNDRAWN, 0, 0, 0, 0
  end
  if t.hold == 0 and (z.mode == 'open' or t.released == t.waiting and straight_in(z, r, t)) then
    position = nil -- there is less room
    local arrived = arrive(z, drawn)
    local status, at, expires, nth = admit(z, r, t, id, arrived, false)
    return status, at, expires, nth, arrived
  end
  if z.max_waiting > 0 and t.waiting >= z.max_waiting then
    return FULL, 0, 0, 0, 0
  end
  local wait_for = too_long(z, r, t)
  if wait_for then
    return TOO_LONG, 0, wait_for, 0, 0
  end
  return line_up(z, r, t, id, drawn and score)
end

-- join_again answers one who has a place or an admission, which may have expired: as newcomer does.
local function join_again(z, r, t, id, score)
  local stands = tonumber(redis.call('ZSCORE', LINE, id) or '') or aside.come_back(z, t, id)
  if stands then
    local arrived = joined_at(id, stands)
    if aside.outdated(z, t, stands) then
      arrived, stands = aside.place_anew(z, t, id, arrived, stands, score)
      if not arrived then
        return UNDRAWN, 0, 0, 0, 0
      end
    end
    local rank = redis.call('ZRANK', LINE, id)
    local status, a, b, c = answer(z, r, t, id, arrived, stands, rank)
    return status, a, b, c, arrived
  end
  local at, expires = good_pass(z, t, id)
  if at then
    return ADMITTED_BEFORE, at, expires, 0, min(at * 1000, z.last_micros)
  end
  return newcomer(z, r, t, id, score)
end

-- leave gives up the place of a token that has that arrival, or ends the admission that the token names. admitted is
-- when that was, 0 if the token names none. Whatever else the visitor has by now stays.
local function leave(z, t, id, arrived, admitted)
  local score = redis.call('ZSCORE', LINE, id)
  if score and joined_at(id, score) == arrived then
    forget(z, t, id, arrived, redis.call('ZRANK', LINE, id) < t.released)
    z.left = z.left + 1
  else
    bury(z, t, id, arrived)
    aside.drop(z, id, arrived)
  end
  if admitted > 0 and z.max_inside > 0 then
    done(z, t, id, admitted)
  end
  return GONE, 0, 0, 0
end

-- leave_all has those leave whom args has from the first to the last: see poll.lua. It adds the answers to answers.
local function leave_all(z, t, args, first, last, answers)
  for i = first, last do
    local n, id, arrived, admitted = #answers, struct.unpack('>c8I8I6', args[i], 2)
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = leave(z, t, id, arrived, admitted)
  end
end
