-- join: taking a place, and the loop over a call's visitors.

local function join(ids)
  for i = 1, #ids, 8 do
    local id = string.sub(ids, i, i + 7)
    local rank, which = redis.call('ZRANK', LINE, id), floor(i / 8)
    if rank then
      local arrived = tonumber(redis.call('ZSCORE', LINE, id))
      local status, a, b, c = poll(id, arrived, rank)
      return status, a, b, c, arrived, which
    end
    local at = admitted_at(z, t, id)
    if at then
      return BEFORE, at, expires(z, at), 0, at * 1000, which
    end
  end
  local id = string.sub(ids, 1, 8)
  if z.mode == 'closed' then
    return CLOSED, 0, 0, 0, 0, 0
  end
  local arrived = max(z.now_micros, z.last_micros + 1)
  if z.mode == 'open' or straight_in() then
    z.last_micros, z.joined = arrived, z.joined + 1
    local status, at, expiry = admit(z, r, t, id, arrived, false)
    return status, at, expiry, 0, arrived, 0
  end
  if z.max_waiting > 0 and t.waiting >= z.max_waiting then
    return FULL, 0, 0, 0, 0, 0
  end
  z.last_micros, z.joined = arrived, z.joined + 1
  -- The newest arrival of all is the last in the line.
  redis.call('ZADD', LINE, string.format('%.0f', arrived), id)
  t.waiting = t.waiting + 1
  local status, position, est, period = wait(id, arrived, t.waiting - 1, nil)
  return status, position, est, period, arrived, 0
end

local function leave(id, arrived)
  local rank = redis.call('ZRANK', LINE, id)
  if forget(z, t, id, arrived, rank and rank < t.released) then
    z.left = z.left + 1
  end
  return NOBODY, 0, 0, 0
end

local answers, n = {}, 0
for i = 2, #ARGV do
  local what = ARGV[i]
  local op, id = string.sub(what, 1, 1), string.sub(what, 2, 9)
  if op == 'p' then
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] =
      poll(id, tonumber(string.sub(what, 10)), redis.call('ZRANK', LINE, id))
    n = n + 4
  elseif op == 'j' then
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5], answers[n + 6] =
      join(string.sub(what, 2))
    n = n + 6
  elseif op == 'l' then
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = leave(id, tonumber(string.sub(what, 10)))
    n = n + 4
  else
    local est = estimate(r, expect(z, r, t.live), t.waiting - t.released, t.room, z.present, z.passed)
    for _, v in ipairs({ z.joined, z.admitted, z.left, z.swept, z.restored, est }) do
      n = n + 1
      answers[n] = v
    end
  end
end
save_zone(ZONE, z)

return { 0, {
  t.now, z.edge_micros, z.last_micros, t.waiting, t.released, t.live,
  t.in_window, t.in_minute, r.limit, z.passed, z.present,
}, answers }
