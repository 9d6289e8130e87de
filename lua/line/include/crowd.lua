-- crowd: what a zone's hash has of those inside.

-- CROWD is what a zone has besides that has or had a cap, or in which admissions are revoked, in one text; integers, in
-- milliseconds or counts. A text of an earlier version may be shorter: the fields at the end are 0 then. For how long a
-- session lasts, and whether sessions count (1); of those inside: how many INSIDE has, before when none of them ends;
-- window.Unknown: how many may be inside since a loss, until when, of how many, when that loss was; window.Stays; until
-- when those count who were inside before; until when admissions are revoked, when the unknown were forgotten; after
-- when those were admitted who may be among the unknown; window.Longest.
local CROWD = {
  'session', 'by_session', 'inside', 'inside_next', 'lost_inside', 'lost_until', 'lost_most', 'inside_lost_at',
  'gone', 'stayed', 'stays_at', 'stays_since', 'quiet_until', 'quiet_at', 'revoked_upto', 'reset_at',
  'lost_from', 'longest', 'longest_until',
}
local PACKED = '>' .. string.rep('i8', #CROWD)

-- set_crowd takes CROWD from its text.
local function set_crowd(z, text)
  local values = { struct.unpack(PACKED, text .. string.rep('\0', 8 * #CROWD - #text)) }
  for i, name in ipairs(CROWD) do
    z[name] = values[i]
  end
end

local function crowd_of(z)
  local values = {}
  for i, name in ipairs(CROWD) do
    values[i] = z[name]
  end
  return struct.pack(PACKED, unpack(values))
end
