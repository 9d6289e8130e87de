-- clock: what time it is for the store.

-- epoch_of names data that begin at a time, as window.Epoch has it.
local function epoch_of(micros)
  return math.max(1, math.floor(micros / 1000000))
end

-- time is the store's (or, in tests, the given) time.
local function time(override)
  local raw = tonumber(override)
  if not raw then
    local t = redis.call('TIME')
    raw = t[1] * 1000000 + t[2]
  end
  return raw
end
