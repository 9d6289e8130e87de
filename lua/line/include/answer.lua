-- answer: what one visitor is told, who is admitted or waits.
--@include begin
--@include heal
--@include come_back
--@include wait
--@include anew

-- answer returns the status (+16 if the place was put back), then position, estimate and
-- period; or when the visitor was admitted, when that expires, and the number of the
-- admission, 0 of an earlier one; and the arrival, if it is another by now. rank is nil for a visitor who is not in the
-- line. due and epoch are what the token says, nil where that does not matter. score is where the visitor stands, or is
-- to stand if put back.
local function answer(z, r, t, id, arrived, score, rank, due, epoch)
  local restored, anew = 0, nil
  if not rank then
    local at, expires = good_pass(z, t, id)
    if at then
      return ADMITTED_BEFORE, at, expires, 0
    end
    if not was_lost(z, r, t, id, arrived, due, epoch) then
      return GONE, 0, 0, 0
    end
    if drew(z, arrived) and not scores(z, score) then
      return UNDRAWN, 0, 0, 0
    end
    if aside.outdated(z, t, arrived) and not drew(z, arrived) then
      anew, score = aside.place_anew(z, t, id, arrived, nil, score)
      if not anew then
        return UNDRAWN, 0, 0, 0
      end
      arrived = anew
    else
      if score <= z.edge_micros and due + z.idle < z.alive then -- it had been set aside
        score = aside.overdue(z, score)
      end
      aside.put_back(z, t, id, score)
    end
    refill(z, r, t)
    rank = redis.call('ZRANK', LINE, id)
    restored, z.healed, z.restored = 16, 1, z.restored + 1
  end
  local released, enters, live_rank = rank < t.released, z.mode == 'open' and t.hold == 0, nil
  if released and not enters and not t.gathers then
    live_rank = redis.call('ZRANK', LIVE, id)
    if not live_rank then
      redis.call('ZADD', LIVE, redis.call('ZSCORE', LINE, id), id)
      live_rank = redis.call('ZRANK', LIVE, id)
      t.live = t.live + 1
      z.present = min(z.present + 1, z.passed)
      z.missed = max(0, z.missed - 1)
    end
    if live_rank < reach(r, room_in_line(z, r, t)) then
      z.kept, enters = z.kept + 1, true
      age(z, r)
    end
  end
  local status, a, b, c
  if enters then
    status, a, b, c = admit(z, r, t, id, arrived, released)
  else
    status, a, b, c = wait(z, r, t, id, arrived, score, rank, live_rank)
    note_poll(t, id, c, arrived, score)
  end
  return status + restored, a, b, c, anew
end
