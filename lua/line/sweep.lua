#!lua flags=allow-oom
-- sweep: remove some of those who have been missed for longer than the idle
-- timeout, and forget expired admissions.
--
-- KEYS[1..9]  see include/keys.lua
-- KEYS[10]    string  lease  the server that sweeps this zone
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     the server that asks
-- ARGV[3]     how long it may keep the lease, ms
-- ARGV[4]     the cursor: 0 to begin with, then what the last call returned,
--             which is the seen bucket to go on with, 1..16384
-- ARGV[5]     how many tokens to examine at most (it ends with a bucket); 0 to take the lease,
--             whoever has it
-- ARGV[6]     how many to remove at most, 1..1000
--
-- Returns  {1} zone unknown, {2} deleted, {3} another server has the lease, {4} data of
--          a newer format, or
--          {0, next cursor or 0 when done, examined, removed}
--
-- A visitor is missed from the time on that it was told to come back at: a server
-- may have answered polls before then by itself. Whoever was told to come back
-- after more than a third of the timeout, which was longer then, is missed for
-- twice as long as that. Nobody counts as missed before the latest loss: the last poll
-- may have been lost with it.
--
-- Bounded by its arguments, whatever the length of the line. Run twice, the
-- second finds less to do.

--@include rates
--@include zone
--@include lifetime
--@include place

local BUCKETS = 16384
-- However empty the buckets are, a call ends after so many.
local LOOKS = 2048
-- How many expired admissions a call forgets: neighbours, so cheap.
local TRIM = 2000

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local owner = redis.call('GET', KEYS[10])
if owner and owner ~= ARGV[2] and ARGV[5] ~= '0' then
  return { 3 }
end
redis.call('SET', KEYS[10], ARGV[2], 'PX', ARGV[3])
local t = { now = tick(z, ARGV[1]) }

-- bury_idle buries the idle while a loss heals.
local function bury_idle(idle)
  for i, stands in ipairs(redis.call('ZMSCORE', LINE, unpack(idle))) do
    if stands then
      bury(z, t, idle[i], joined_at(idle[i], stands))
    end
  end
end

local at = max(0, ARGV[4] - 1)
local last = at + LOOKS
local most, room = tonumber(ARGV[5]), tonumber(ARGV[6])
local examined, removed = 0, 0
while at < BUCKETS and at < last and examined < most and room > 0 do
  local key = SEEN .. at
  local all = redis.call('HGETALL', key)
  local idle = {}
  for i = 1, #all, 2 do
    examined = examined + 1
    local polled, period = struct.unpack('>I6I2', all[i + 1])
    if max(polled + period, z.heal_until - HEAL) + max(z.idle, 2 * period) < t.now and #idle < room then
      idle[#idle + 1] = all[i]
    end
  end
  if #idle > 0 then
    if t.now < z.heal_until then
      bury_idle(idle)
    end
    removed = removed + redis.call('ZREM', LINE, unpack(idle))
    redis.call('ZREM', LIVE, unpack(idle))
    redis.call('ZREM', DUE, unpack(idle))
    redis.call('HDEL', key, unpack(idle))
  end
  room = room - #idle
  if room > 0 then
    at = at + 1
  end
end
z.swept = z.swept + removed
prune_ttls(z, t.now)
save_zone(ZONE, z)

-- An empty line has no marks. Those who are released need none; but from the last
-- of theirs on, the first of the others are counted.
local before = string.format('%.0f', z.last_micros)
if redis.call('ZCARD', LINE) > 0 then
  local edge = string.format('%.0f', z.edge_micros)
  before = '(' .. (redis.call('ZREVRANGEBYSCORE', MARKS, edge, '-inf', 'LIMIT', 0, 1)[1] or 0)
end
redis.call('ZREMRANGEBYSCORE', MARKS, '-inf', before)

-- The minute's limit needs a minute of the log, repeated polls a pass's life.
local keep = max(MINUTE, longest_ttl(z))
local old = redis.call('ZCOUNT', LOG, '-inf', '(' .. string.format('%.0f', t.now - keep))
if old > 0 then
  redis.call('ZREMRANGEBYRANK', LOG, 0, min(old, TRIM) - 1)
end
if at >= BUCKETS and old > TRIM then
  -- One bucket again, while there is more of the log to forget.
  at = BUCKETS - 1
end
return { 0, at < BUCKETS and at + 1 or 0, examined, removed }
