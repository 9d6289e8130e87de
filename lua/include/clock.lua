-- clock: what time it is for the store.

-- time is the store's (or, in tests, the given) time.
local function time(override)
  local raw = tonumber(override)
  if not raw then
    local t = redis.call('TIME')
    raw = t[1] * 1000000 + t[2]
  end
  return raw
end
