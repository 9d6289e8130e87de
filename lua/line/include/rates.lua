-- rates: the arithmetic of admission, as package internal/window has it. The
-- property test holds the two equal; change both or neither.

local SECOND = 1000
local MINUTE = 60000
local GRACE = 1000
local STEP = 100
local HEAL = 600000
local FREEZE = 24000
local DAY = 86400000
local LOST = 5000000
-- A clock was set forward if it shows so much more than a server expects, in ms. Servers that expected the same count
-- as one within SETTLED.
local STEPPED, SETTLED = 1000, 2000

local floor, min, max = math.floor, math.min, math.max

-- rates_of: what the rule needs of the settings, in ms. Of max_per_second, 0 is auto and -1 none.
local function rates_of(per_minute, window, idle, max_per_second)
  local limit = max(1, floor((per_minute * window + MINUTE - 1) / MINUTE))
  local second, pace = limit, per_minute
  if max_per_second == 0 then
    second = max(1, floor((per_minute * 5 + 239) / 240))
  elseif max_per_second > 0 then
    second = max_per_second
  end
  if second < limit then
    pace = min(pace, floor(second * MINUTE / (SECOND + 1)))
  end
  return {
    per_minute = per_minute,
    window = window,
    limit = limit,
    per_second = min(limit, second),
    pace = pace,
    flow = limit,
    target = max(3, floor((5 * limit + 1) / 2)),
    trust = max(32, limit),
    cap = min(60000, floor(idle / 3)),
  }
end

-- epoch_of names data that begin at a time.
local function epoch_of(micros)
  return max(1, floor(micros / 1000000))
end

-- reach: how many live released visitors are within reach of the front.
local function reach(r, room)
  if room <= 0 then
    return 0
  end
  return room + floor(r.flow / 10)
end

-- estimate: the expected wait in milliseconds behind live and far visitors.
local function estimate(r, live, far, room, present, passed)
  if r.pace == 0 then
    return DAY
  end
  if passed > 0 then
    far = floor(far * present / passed)
  end
  return min(DAY, floor(max(0, live + far + 1 - room) * MINUTE / r.pace))
end

-- expect: how many of n live released visitors will come.
local function expect(z, r, n)
  local half = floor(r.trust / 2)
  return floor(n * (z.kept + half) / (z.kept + z.missed + half))
end

-- age: half of what is known of appointments is forgotten in time.
local function age(z, r)
  if z.kept + z.missed >= 2 * r.trust then
    z.kept, z.missed = floor(z.kept / 2), floor(z.missed / 2)
  end
end

-- back: how many of the front of a lost line have polled since the loss.
local function back(r, since_loss)
  local wait = since_loss - GRACE
  if wait >= 4000 then
    wait = 2 * wait
  end
  return floor(max(0, wait - r.window) * r.pace / MINUTE)
end
