-- period: when a visitor polls next, as package internal/window has it. The property test holds the two equal; change
-- both or neither.
--@include rates

-- far_base: far_period before the jitter, and the longest that it may be.
local function far_base(r, far, est, waited)
  est = r.pace == 0 and max(25 * far, 11200) or est
  local top, longest = 4000 + floor(max(0, waited) / 2), far >= 200000 and 60000 or 20000
  if est <= 35000 then
    top, longest = min(top, 10000), 20000
  end
  return min(max(floor(est * 5 / 14), 1000), top, longest), min(longest, r.cap)
end

-- jittered is a period of far_base with its jitter.
local function jittered(base, longest, jitter)
  local period = base * (896 + jitter) / 1024
  return period < longest and period - period % 1 or longest
end

-- far_period: when one beyond the edge polls next who has so many ahead there.
local function far_period(r, far, est, waited, jitter)
  local base, longest = far_base(r, far, est, waited)
  return jittered(base, longest, jitter)
end

-- gather_period: when one polls next while people gather.
local function gather_period(r, jitter)
  return floor(min(r.cap, 20000) * (640 + floor(jitter * 3 / 2)) / 1024)
end

-- appointment_period: when a released visitor polls next.
local function appointment_period(z, r, opens_in)
  if r.pace == 0 then
    return min(4000, r.cap)
  end
  local period = opens_in
  if period > 4000 then
    period = max(4000, floor(period / 2))
  end
  return min(max(expect(z, r, max(period, 250)), 125), 10000, r.cap)
end
