-- cap: what a change of settings does to those inside.
--@include stay

-- revoke_all has all be over who were admitted up to then. Those who were admitted since, before the store was
-- told, are unknown until their sessions are told of. The log has the last minute; of earlier times all are unknown.
local function revoke_all(z, upto, now)
  local most = z.inside + z.lost_inside
  if upto >= max(z.inside_lost_at, now - MINUTE) then
    most = min(most, redis.call('ZCOUNT', LOG, string.format('%.0f', upto + 1), '+inf'))
  end
  z.gone = z.gone + z.inside
  clear_inside(z)
  if most > 0 then
    set_unknown(z, most, now, longest_of(z, now))
    z.lost_from = upto
  end
end

-- set_cap takes in the settings of the cap that are given by name: see put_zone.lua. was has max_inside and ttl of
-- before; nil for a zone that is made.
local function set_cap(z, given, was)
  local had, has = was ~= nil and was.max_inside > 0, z.max_inside > 0
  local longest = had and max(z.session, was.ttl)
  local upto, reset = tonumber(given.revoked_upto), tonumber(given.reset_at)
  if not z.session and not has and upto == 0 and given.revoked == '' then
    return
  elseif not z.session or was and had ~= has or not was and not has then
    set_crowd(z, '')
  end
  local now = floor(z.now_micros / 1000)
  local t = { now = now, from = now, late = 0, inside = 0, cap = 0 }
  z.session, z.by_session = tonumber(given.session), tonumber(given.by_session)
  if had and not has then
    clear_inside(z)
  elseif had then
    change_longest(z, now, longest)
  elseif has and was then
    -- Until now nobody was counted. The log has the admissions whose passes are good; servers report the sessions.
    local from = now - max(MINUTE, was.ttl)
    set_unknown(z, redis.call('ZCOUNT', LOG, from, '+inf'), now, longest_of(z, now))
    z.lost_from = from - 1
  end
  if had and upto > z.revoked_upto then
    revoke_all(z, upto, now)
  end
  if had and reset > z.reset_at then
    set_unknown(z, 0, 0, 0)
  end
  z.revoked_upto, z.reset_at = upto, reset
  for i = 1, #given.revoked, 14 do
    local id, at = struct.unpack('>c8I6', given.revoked, i)
    done(z, t, id, at)
  end
end
