-- cap: what a change of settings does to those inside.
--@include stay

-- set_cap takes in the settings of the cap: see put_zone.lua.
local function set_cap(z, created)
  local had = z.max_inside > 0
  z.max_inside, z.session, z.by_session = tonumber(ARGV[24]), tonumber(ARGV[25]), tonumber(ARGV[26])
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
    z.session, z.by_session, z.inside_lost_at = tonumber(ARGV[25]), tonumber(ARGV[26]), now
    z.revoked_upto, z.reset_at = tonumber(ARGV[27]), tonumber(ARGV[28])
    lose_inside(z, { { now + ttl, redis.call('ZCOUNT', LOG, now - MINUTE, '+inf') } })
  end
  if tonumber(ARGV[27]) > z.revoked_upto then
    redis.call('UNLINK', INSIDE)
    z.gone, z.inside, z.lost_inside, z.lost_next, z.lost_back = z.gone + z.inside, 0, 0, 0, 0
    redis.call('HDEL', ZONE, 'lost_steps')
  end
  if tonumber(ARGV[28]) > z.reset_at then
    z.lost_inside, z.lost_next, z.lost_back, z.inside_lost_at = 0, 0, 0, 0
    redis.call('HDEL', ZONE, 'lost_steps')
  end
  z.revoked_upto, z.reset_at = tonumber(ARGV[27]), tonumber(ARGV[28])
  for i = 1, #ARGV[29], 14 do
    local id, at = struct.unpack('>c8I6', ARGV[29], i)
    done(z, t, id, at, false)
  end
end

-- restore_inside takes in what is remembered of those inside. If nothing is, as many may be inside as may be.
local function restore_inside(z, now, known)
  local steps = {}
  for ends, n in string.gmatch(ARGV[30], '(%d+) (%d+) ') do
    steps[#steps + 1] = tonumber(ends) > now and { tonumber(ends), tonumber(n) } or nil
  end
  if z.max_inside > 0 then
    lose_inside(z, known and steps or { { now + z.session, z.max_inside } })
  end
end
