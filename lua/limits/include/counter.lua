-- counter: the state of fixed_window and sliding_counter.
--
-- The key is a string of three numbers: when the window began, ms; what was taken in
-- it; and for sliding_counter, what was taken in the window before.
--@include arithmetic

local COUNTER = '>I6I3I3'

local function advance_counter(r, now)
  local w = r.window
  r.at, r.began, r.held, r.before = now, now - now % w, 0, 0
  local value = redis.call('GET', r.key)
  if not value then
    return
  end
  local at, held, before = struct.unpack(COUNTER, value)
  if at - now > w then
    r.held, r.before, r.mended = held, before, true
  elseif now < at then
    r.at, r.began, r.held, r.before = at, at, held, before
  elseif r.began == at then
    r.held, r.before = held, before
  elseif r.began == at + w then
    r.before = held
  end
end

local function take_from_counter(r, _, cost)
  r.held = r.held + cost
end

local function keep_counter(r, ttl)
  redis.call('SET', r.key, struct.pack(COUNTER, r.began, r.held, r.before), 'PX', ttl)
end
