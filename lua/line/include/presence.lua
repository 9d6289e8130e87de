-- presence: a key of the zone that Redis has evicted or lost by itself is noticed by the next call: the zone's
-- hash says which keys there are. The fields has_* are 1 for a key that has members. Of the seen buckets, each of
-- which is a key, a sweep counts the fields: seen are those of the buckets before swept_to (sweep.lua).
--@include loss
--@include zone

-- lose_key treats the loss of a key as that of the zone's data: the window counts as full, and the edge waits. If it is
-- the line, those who poll are put back. The live and the due are known by their next polls.
local function lose_key(z, r, now, before)
  lose(z, r, now, before, 0)
  z.healed = now < z.freeze and z.healed or 0
  z.freeze, z.froze_at = now + FREEZE, z.admitted
  if z.has_line > redis.call('EXISTS', LINE) then
    z.heal_after = 0
  end
  if z.max_inside > 0 and z.inside > 0 and redis.call('EXISTS', INSIDE) == 0 then
    lose_inside(z, { { now + z.session, z.inside } })
    z.inside, z.inside_next = 0, 0
  end
  if redis.call('EXISTS', LINE, LIVE, DUE) < 3 then
    redis.call('UNLINK', LIVE, DUE)
  end
  z.has_log, z.has_marks = redis.call('EXISTS', LOG), redis.call('EXISTS', MARKS)
  z.has_waits, z.has_departed = redis.call('EXISTS', WAITS), redis.call('EXISTS', DEPARTED)
  z.has_over = redis.call('EXISTS', OVER)
end

-- check_keys notices that a key is gone that has to be there.
local function check_keys(z, r, now, before)
  local want = z.has_line + 2 * z.has_live + z.has_log + z.has_marks + z.has_waits
  if z.max_inside > 0 then
    want = want + min(1, z.inside) + z.has_over
  end
  if want > 0 and redis.call('EXISTS', LINE, LIVE, DUE, LOG, MARKS, WAITS, INSIDE, OVER) < want
    or z.has_departed == 1 and now < z.heal_until and redis.call('EXISTS', DEPARTED) == 0 then
    lose_key(z, r, now, before)
  end
end

-- save writes the zone, with the keys that it has after the call. t.unseen: somebody waited of whom nothing was noted.
local function save(z, r, t)
  z.has_line, z.has_live = min(1, t.waiting), min(1, t.live)
  if t.marked then
    z.has_marks = 1
  end
  if next(t.waits) then
    z.has_waits = 1
  end
  if t.unseen and z.lost_at < t.now then
    lose_key(z, r, t.now, t.before)
  end
  save_zone(ZONE, z)
end
