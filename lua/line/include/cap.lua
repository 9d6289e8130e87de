-- cap: what a change of settings does to those inside.
--@include stay

-- set_cap takes in the settings of the cap that are given by name: see put_zone.lua. had: the zone had a cap before.
local function set_cap(z, given, had, created)
  local session, by_session = tonumber(given.session), tonumber(given.by_session)
  local revoked_upto, reset_at = tonumber(given.revoked_upto), tonumber(given.reset_at)
  z.session, z.by_session = session, by_session
  local now = floor(z.now_micros / 1000)
  local t = { now = now, from = now, late = 0, inside = 0, cap = 0 }
  if z.max_inside == 0 then
    redis.call('UNLINK', INSIDE, OVER)
    redis.call('HDEL', ZONE, 'crowd', 'lost_steps')
    return
  elseif not had and not created then
    -- Until now nobody was counted. The log has the last minute for sure; servers tell of the sessions.
    local ttl = z.by_session == 1 and z.ttl or z.session
    set_crowd(z, '')
    z.session, z.by_session, z.inside_lost_at = session, by_session, now
    z.revoked_upto, z.reset_at = revoked_upto, reset_at
    lose_inside(z, { { now + ttl, redis.call('ZCOUNT', LOG, now - MINUTE, '+inf') } })
  end
  if revoked_upto > z.revoked_upto then
    redis.call('UNLINK', INSIDE)
    z.gone, z.inside, z.lost_inside, z.lost_next, z.lost_back = z.gone + z.inside, 0, 0, 0, 0
    redis.call('HDEL', ZONE, 'lost_steps')
  end
  if reset_at > z.reset_at then
    z.lost_inside, z.lost_next, z.lost_back, z.inside_lost_at = 0, 0, 0, 0
    redis.call('HDEL', ZONE, 'lost_steps')
  end
  z.revoked_upto, z.reset_at = revoked_upto, reset_at
  for i = 1, #given.revoked, 14 do
    local id, at = struct.unpack('>c8I6', given.revoked, i)
    done(z, t, id, at, false)
  end
end

-- restore_inside takes in the steps that are remembered of those inside: see put_zone.lua. Unless known, nothing is
-- remembered, and as many count as inside as the cap allows.
local function restore_inside(z, now, text, known)
  local steps = {}
  for ends, n in string.gmatch(text, '(%d+) (%d+) ') do
    steps[#steps + 1] = tonumber(ends) > now and { tonumber(ends), tonumber(n) } or nil
  end
  if z.max_inside > 0 then
    lose_inside(z, known and steps or { { now + z.session, z.max_inside } })
  end
end
