-- flow: the arithmetic of a zone with a cap, as internal/window/inside.go has it, and where waits are counted.
--@include rates

local FRONT = 1500

-- through slows the rates down to so many a minute.
local function through(r, per_minute)
  if per_minute < r.pace then
    r.pace = per_minute
    r.flow = min(r.limit, max(1, floor((r.pace * r.window + MINUTE - 1) / MINUTE)))
    r.target = max(3, floor((5 * r.flow + 1) / 2))
  end
end

-- leaves: when the visitor with so many ahead enters who wait for others to leave.
local function leaves(r, ahead, room, now)
  return ahead < room and now or now + min(DAY, floor((ahead - room + 1) * MINUTE / max(1, r.pace)))
end

-- wait_bucket is where a wait is counted, as window.WaitBucket has it: in units of 128 ms, eight
-- buckets to an octave.
local function wait_bucket(millis)
  local units, octave = floor(max(0, millis) / 128), 0
  while units >= 16 do
    units, octave = floor(units / 2), octave + 1
  end
  return min(8 * octave + units, 175)
end
