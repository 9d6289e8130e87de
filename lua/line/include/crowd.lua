-- crowd: what a zone's hash has of those inside.

-- CROWD is what a zone with a cap has besides, in one text; integers, in milliseconds or counts. For how long a
-- session lasts, and whether sessions count (1); of those inside: how many INSIDE has, before when none of them
-- ends; how many phantoms there are, when the next ends, how many have come back, the latest loss; window.Stays;
-- until when those count who were inside before; until when admissions are revoked, when phantoms were forgotten;
-- 1 if OVER has members.
local CROWD = {
  'session', 'by_session', 'inside', 'inside_next', 'lost_inside', 'lost_next', 'lost_back', 'inside_lost_at',
  'gone', 'stayed', 'stays_at', 'stays_since', 'quiet_until', 'quiet_at', 'revoked_upto', 'reset_at',
  'has_over',
}
local PACKED = '>' .. string.rep('i8', #CROWD)

-- set_crowd takes CROWD from its text, '' for none.
local function set_crowd(z, text)
  local values = text ~= '' and { struct.unpack(PACKED, text) } or {}
  for i, name in ipairs(CROWD) do
    z[name] = values[i] or 0
  end
end

local function crowd_of(z)
  local values = {}
  for i, name in ipairs(CROWD) do
    values[i] = z[name]
  end
  return struct.pack(PACKED, unpack(values))
end
