-- trim: forgetting old admissions of the log.
--@include rates
--@include keys
--@include expiry

-- trim_log forgets the oldest admissions, up to the first that matters: the limits need the last
-- minute, and a repeated poll a pass that is good. It forgets STEP at a time, to most, and returns how many.
local function trim_log(now, most)
  local old, n = 0, STEP
  while n == STEP and old < most do
    local scores = redis.call('ZRANGE', LOG, 0, STEP - 1, 'WITHSCORES')
    n = 0
    for i = 2, #scores, 2 do
      local at, expires = admission(scores[i])
      if at >= now - MINUTE or expires > now then
        break
      end
      n = n + 1
    end
    if n > 0 then
      redis.call('ZREMRANGEBYRANK', LOG, 0, n - 1)
    end
    old = old + n
  end
  return old
end
