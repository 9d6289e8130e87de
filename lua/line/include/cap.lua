-- cap: what a change of settings does to those inside.
--@include stay

-- set_cap takes in the settings of the cap: see put_zone.lua. was_ttl is the pass's time to live before; nil for a zone that is
-- made.
local function set_cap(z, was_ttl)
  local had, longest, upto, reset = false, 0, tonumber(ARGV[27]), tonumber(ARGV[28])
  if was_ttl and z.max_inside > 0 then
    had, longest = true, max(z.session, was_ttl)
  end
  z.max_inside = tonumber(ARGV[24])
  local has = z.max_inside > 0
  if not z.session and not has and upto == 0 and ARGV[29] == '' then
    return
  elseif not z.session or was_ttl and had ~= has or not was_ttl and not has then
    set_crowd(z, '')
  end
  local now = floor(z.now_micros / 1000)
  local t = { now = now, from = now, late = 0, inside = 0, cap = 0 }
  z.session, z.by_session = tonumber(ARGV[25]), tonumber(ARGV[26])
  if had and not has then
    clear_inside(z)
  elseif had then
    change_longest(z, now, longest)
  elseif has and was_ttl then
    -- Until now nobody was counted. The log has the admissions whose passes are good; servers tell of the sessions.
    local from = now - max(MINUTE, was_ttl)
    set_unknown(z, redis.call('ZCOUNT', LOG, from, '+inf'), now, longest_of(z, now))
    z.lost_from = from - 1
  end
  if had and upto > z.revoked_upto then
    z.gone = z.gone + z.inside
    clear_inside(z)
  end
  if had and reset > z.reset_at then
    set_unknown(z, 0, 0, 0)
  end
  z.revoked_upto, z.reset_at = upto, reset
  for i = 1, #ARGV[29], 14 do
    local id, at = struct.unpack('>c8I6', ARGV[29], i)
    done(z, t, id, at)
  end
end

-- restore_inside takes in how many may have been inside, all if no server has seen the zone.
local function restore_inside(z, seen)
  if z.max_inside > 0 then
    raise_unknown(z, seen and tonumber(ARGV[30]) or max(tonumber(ARGV[30]), z.max_inside))
  end
end
