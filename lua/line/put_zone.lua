#!lua flags=allow-oom
-- put_zone: make a zone, change its settings, or put back one that was lost.
--
-- KEYS[1..13]  see include/keys.lua
-- KEYS[14]     list  audit, KEYS[15]  hash  record: see include/record.lua
-- ARGV[1]    clock override in microseconds, '' for the server's clock
-- ARGV[2]    put: create or change; restore: only where there is none
-- ARGV[3]    put: the settings that were read (JSON), '' for no zone
-- ARGV[4]    the settings, as JSON
-- ARGV[5]    the audit.Addition to the record, as JSON; '' for what is not recorded
-- ARGV[6..]  names and values, in any order:
--   each of SETTINGS; mode
--   session       how long a session lasts, ms; by_session: 1 if sessions count
--   revoked_upto  up to when all admissions are revoked, ms
--   reset_at      when those inside of whom nothing is known were forgotten, ms
--   revoked       admissions that are revoked: of each the id (8 bytes), and when (6)
--   and of a zone that is put back
--   edge_micros, newest_micros  the edge and the newest arrival, in microseconds
--   seen_at       until when the line is known to have stood, in ms; 0 if nobody remembers it
--   epoch         of the lost data
--   inside        how many may have been inside; longest: for how long somebody can be, ms
--
-- Returns  0 changed, 6 present and so already, 1 created, 2 deleted lately, 3 settings or record changed meanwhile,
--          4 the zone's data is of a newer format, 5 (put) a part of the zone was lost: it has to be restored first

--@include zone
--@include make_zone
--@include expiry
--@include loss
--@include record
--@include cap

local AUDIT, RECORD = KEYS[14], KEYS[15]
local CHANGED, CREATED, DELETED, DIFFER, ZONE_LOST, PRESENT = 0, 1, 2, 3, 5, 6

-- given has the arguments that have names.
local given = {}
for i = 6, #ARGV, 2 do
  given[ARGV[i]] = ARGV[i + 1]
end

-- set_all takes in the settings.
local function set_all(z, created)
  local was = not created and { max_inside = z.max_inside, ttl = z.ttl } or nil
  for _, name in ipairs(SETTINGS) do
    z[name] = tonumber(given[name])
  end
  if created then
    make_keys()
    redis.call('PERSIST', OVER)
  end
  set_cap(z, given, was)
end

-- restore takes in what is remembered of a zone that was lost.
local function restore(z)
  local now, seen = floor(z.now_micros / 1000), tonumber(given.seen_at)
  local known = seen > 0
  local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
  z.edge_micros, z.mode = tonumber(given.edge_micros), given.mode
  if z.max_inside > 0 then
    change_longest(z, now, tonumber(given.longest))
  end
  lose(z, r, now, known and seen or now, tonumber(given.newest_micros))
  if z.max_inside > 0 then
    raise_unknown(z, max(tonumber(given.inside), known and 0 or z.max_inside))
  end
  if known then
    z.epoch = tonumber(given.epoch)
  else
    z.heal_any = 1
  end
  z.freeze = now + FREEZE
  z.aside_at = redis.call('EXISTS', ASIDE[0], ASIDE[1]) > 0 and now or 0
end

local z, missing, left = load_zone(ZONE)
local created, restores = not z, ARGV[2] == 'restore'
if missing == NEWER then
  return NEWER
elseif left == true and not restores then
  return ZONE_LOST
elseif restores and z then
  return PRESENT
elseif restores and missing == DELETED then
  return DELETED
end
local before = z and redis.call('HGET', ZONE, 'json')
local entry = ARGV[5] ~= '' and before ~= ARGV[4] and cjson.decode(ARGV[5])
if not restores and before ~= ARGV[4] and (before or '') ~= ARGV[3] or entry and moved(RECORD, entry) then
  return DIFFER
end

if missing == DELETED then
  z = make_again(left, ARGV[1])
elseif created then
  z = new_zone(ARGV[1]) -- its clock begins with its first visitor
  if restores then
    tick(z, ARGV[1])
  else
    redis.call('UNLINK', ASIDE[0], ASIDE[1])
  end
else
  local now = tick(z, ARGV[1])
  if z.ttl ~= tonumber(given.ttl) then
    keep_log(z, now, z.ttl, now + z.ttl)
  end
end
set_all(z, created)
if restores then
  restore(z)
end
save_zone(ZONE, z)
-- By the digest, servers see whether they have read these settings before.
redis.call('HSET', ZONE, 'mode', given.mode, 'json', ARGV[4], 'digest', redis.sha1hex(ARGV[4]))
redis.call('PERSIST', ZONE)
if entry then
  note(AUDIT, RECORD, entry)
end
return created and CREATED or before == ARGV[4] and PRESENT or CHANGED
