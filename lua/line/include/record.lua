-- record: who changed the zone's settings, and when. One entry a change.
--   KEYS[14]  list  audit  changes as JSON, the newest first

local AUDIT = KEYS[14]
-- How many changes are kept of a zone, as zone.MaxChanges has it.
local CHANGES = 200
-- The format of an entry, and recordFormat in format.go.
local ENTRY = 1

-- note writes that settings were replaced by others, both as JSON or 'null'. The
-- members that say who did it are those of audit.By.
local function note(micros, by, was, now)
  redis.call('LPUSH', AUDIT, string.format('{"format":%d,"at":%.0f,%s,"was":%s,"now":%s}',
    ENTRY, math.floor(micros / 1000), by, was, now))
  redis.call('LTRIM', AUDIT, 0, CHANGES - 1)
end
