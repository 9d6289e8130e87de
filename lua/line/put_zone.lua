#!lua flags=allow-oom
-- put_zone: make a zone, change its settings, or put back one that was lost.
--
-- KEYS[1..11]  see include/keys.lua
-- KEYS[12]     see include/record.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     put: create or change; restore: only where there is none
-- ARGV[3]     put: only if the settings are still these (JSON), '' for any
-- ARGV[4]     the settings, as JSON
-- ARGV[5..11] per minute, window, burst, idle timeout, pass's time to live (the
--             last three of the four in ms), most waiting, mode
-- ARGV[12]    restore: the edge, in microseconds
-- ARGV[13]    restore: the newest arrival, in microseconds
-- ARGV[14]    restore: until when the line is known to have stood, in ms; 0 if
--             nobody remembers it
-- ARGV[15]    restore: the epoch
-- ARGV[16]    who does it, a JSON string; '' for nobody, who is not recorded
-- ARGV[17]    most a second in a line; 0 auto, -1 none
-- ARGV[18..23]  when people gather, are settled and are admitted, in ms; the least score of
--             a draw, the first above all, and that of the draws before, in microseconds;
--             0 for none
-- ARGV[24..28]  most inside, 0 for no cap; how long a session lasts, ms; 1 if sessions count; up to when all
--             admissions are revoked, and when phantoms were forgotten, ms
-- ARGV[29]    admissions that are revoked: of each the id (8 bytes), and when (6)
-- ARGV[30..31]  restore: how many may have been inside, and for how long somebody can be, ms
--
-- Returns  0 changed or present, 1 created, 2 deleted lately, 3 settings differ,
--          4 the zone's data is of a newer format, 5 (put) a part of the zone was lost: it has to be restored first

--@include zone
--@include expiry
--@include loss
--@include record
--@include cap

local z, missing, left = load_zone(ZONE)
if missing == NEWER then
  return NEWER
elseif left == true and ARGV[2] ~= 'restore' then
  return 5
end
if ARGV[2] == 'restore' then
  if z then
    return 0
  elseif missing == 2 then
    return 2
  end
end
local created, before = not z, z and redis.call('HGET', ZONE, 'json')
local was_ttl = z and z.ttl
if ARGV[3] ~= '' and before ~= ARGV[3] then
  return 3
end
if created then
  z = { was = {}, peak = '', revoked_upto = 0 }
  for i = 1, NUMBERS do
    z[FIELDS[i]] = 0
  end
end
if missing == 2 then
  z = left
  tick(z, ARGV[1])
  -- The line that was deleted with the zone stays deleted.
  z.last_micros = max(z.last_micros, z.now_micros)
  z.epoch = max(epoch_of(time(ARGV[1])), z.epoch + 1)
  redis.call('HDEL', ZONE, 'deleted')
elseif not created or ARGV[2] == 'restore' then
  -- A new zone's clock begins with its first visitor.
  local now = tick(z, ARGV[1])
  if not created and z.ttl ~= tonumber(ARGV[9]) then
    keep_log(z, now, z.ttl, now + z.ttl)
  end
end
if created and missing ~= 2 then
  z.epoch = epoch_of(time(ARGV[1]))
  unlink_keys() -- of a zone whose hash alone was lost
end
if created then
  make_keys()
  redis.call('PERSIST', OVER)
end
z.per_minute, z.window, z.burst = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
z.idle, z.ttl, z.max_waiting = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
z.max_per_second = tonumber(ARGV[17])
z.gather_at, z.settles_at, z.opens_at = tonumber(ARGV[18]), tonumber(ARGV[19]), tonumber(ARGV[20])
z.draw_from, z.draw_upto, z.draw_behind = tonumber(ARGV[21]), tonumber(ARGV[22]), tonumber(ARGV[23])
set_cap(z, was_ttl)
if created and ARGV[2] == 'restore' then
  local now = floor(z.now_micros / 1000)
  z.edge_micros = tonumber(ARGV[12])
  local seen = tonumber(ARGV[14])
  z.mode = ARGV[11]
  if z.max_inside > 0 then
    change_longest(z, now, tonumber(ARGV[31]))
  end
  lose(z, rates_of(z.per_minute, z.window, z.idle, z.max_per_second), now, seen > 0 and seen or now,
    tonumber(ARGV[13]))
  restore_inside(z, seen > 0)
  if seen > 0 then
    z.epoch = tonumber(ARGV[15])
  else
    z.heal_any = 1
  end
  z.freeze = now + FREEZE
end
save_zone(ZONE, z)
-- By the digest, servers see whether they have read these settings before.
redis.call('HSET', ZONE, 'mode', ARGV[11], 'json', ARGV[4], 'digest', redis.sha1hex(ARGV[4]))
redis.call('PERSIST', ZONE)
if ARGV[16] ~= '' and before ~= ARGV[4] then
  note(time(ARGV[1]), ARGV[16], before or 'null', ARGV[4])
  redis.call('PERSIST', AUDIT)
end
return created and 1 or 0
