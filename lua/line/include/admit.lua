-- admit: admitting, and knowing who was admitted and when the next slot opens.
--@include expiry
--@include begin
--@include stay
--@include statuses

-- good_pass: when a visitor was admitted and when its pass expires, if that is good.
local function good_pass(z, t, id)
  local at, expires = admission(redis.call('ZSCORE', LOG, id))
  if expires > t.now and at > z.revoked_upto then
    return at, expires
  end
end

-- count_wait counts how long one who is admitted has waited.
local function count_wait(t, millis)
  local b = wait_bucket(millis)
  t.waits[b] = (t.waits[b] or 0) + 1
end

-- admit lets a visitor in and counts it. The count is the number of the admission.
local function admit(z, r, t, id, arrived, released)
  forget(z, t, id, arrived, released)
  count_second(z, t)
  keep_earlier(t, id)
  redis.call('ZADD', LOG, log_score(t.now, z.ttl), id)
  t.logged_second = t.logged_second + 1
  z.admitted = z.admitted + 1
  local came = floor(arrived / 1000)
  count_wait(t, t.now - (z.opens_at <= t.now and max(came, z.opens_at) or came))
  t.logged_window, t.logged_minute = t.logged_window + 1, t.logged_minute + 1
  t.in_window, t.in_minute = t.in_window + 1, t.in_minute + 1
  enters_inside(z, t, id, t.now + z.ttl)
  t.room = min(r.limit - t.in_window, r.per_minute - t.in_minute, t.cap)
  return ADMITTED, t.now, t.now + z.ttl, z.admitted
end

-- slot: when the slot of a visitor with so many ahead opens, by the limit of one span.
local function slot(z, t, ahead, span, limit, lost, logged)
  if t.hold > 0 then -- a span's worth at the opening, the next a span later
    return t.now + min(DAY, t.hold + floor(ahead / limit) * (span + 1))
  end
  local j = ahead - (limit - lost - logged)
  if j < 0 then
    return t.now
  end
  if j < lost then
    local oldest = floor((z.lost_at - t.now + span) / z.lost_apart)
    return z.lost_at - max(0, oldest - floor(j / z.lost_limit)) * z.lost_apart + span + 1
  end
  j = j - lost
  if j < logged then
    local i = j - logged -- from the end of the log
    return admission(redis.call('ZRANGE', LOG, i, i, 'WITHSCORES')[2]) + span + 1
  end
  return t.now + span + 1 + floor((j - logged) * span / max(1, limit))
end

-- opens: when the slot of a visitor opens before whom so many are expected to come.
local function opens(z, r, t, ahead)
  if r.per_minute == 0 then
    return t.now + DAY
  end
  local at = max(
    slot(z, t, ahead, r.window, r.limit, t.lost_window, t.logged_window),
    slot(z, t, ahead, MINUTE, r.per_minute, t.lost_minute, t.logged_minute))
  if r.per_second < r.limit then
    count_second(z, t)
    at = max(at, slot(z, t, ahead, SECOND, r.per_second, t.lost_second, t.logged_second))
  end
  if t.full and t.hold == 0 then
    at = max(at, leaves(r, ahead, t.cap, t.now))
  end
  return at
end
