#!lua flags=allow-oom
-- sweep: take some of those out of the line who have been missed for longer than the idle
-- timeout, set their places aside, and forget expired admissions.
--
-- KEYS[1..13]  see include/keys.lua
-- KEYS[14]    string  lease  the server that sweeps this zone
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     the server that asks
-- ARGV[3]     how long it may keep the lease, ms
-- ARGV[4]     the cursor: 0 to begin with, then what the last call returned: the seen bucket to
--             go on with, 1..16384, or 16385 and the rank in the line
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
-- If the buckets have fewer fields than the line has visitors, a bucket was lost. Then the sweep goes through
-- the line, too. Whoever has no field counts as here from now on.
--
-- Bounded by its arguments, whatever the length of the line. Run twice, the
-- second finds less to do.

--@include zone
--@include idle
--@include aside

local BUCKETS = 16384
-- However empty the buckets are, a call ends after so many.
local LOOKS = 2048

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local owner = redis.call('GET', KEYS[14])
if owner and owner ~= ARGV[2] and ARGV[5] ~= '0' then
  return { 3 }
end
redis.call('SET', KEYS[14], ARGV[2], 'PX', ARGV[3])
local t = { before = floor(z.now_micros / 1000), now = tick(z, ARGV[1]), waits = {} }
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)

local from = tonumber(ARGV[4])
local at, most, room = max(0, from - 1), tonumber(ARGV[5]), tonumber(ARGV[6])
local last = min(BUCKETS, at + LOOKS)
local examined, removed = 0, 0
aside.turn(z, t)
z.seen = at > 0 and z.seen or 0
while at < last and examined < most and room > 0 do
  local key = SEEN .. at
  local all = redis.call('HGETALL', key)
  local idle, seen = {}, {}
  for i = 1, #all, 2 do
    examined = examined + 1
    local polled, period = struct.unpack('>I6I2', all[i + 1])
    if max(polled + period, z.heal_from) + max(z.idle, 2 * period) < t.now and #idle < room then
      idle[#idle + 1], seen[#seen + 1] = all[i], all[i + 1]
    end
  end
  if #idle > 0 then
    if t.now < z.heal_until then
      bury_idle(z, t, idle)
    end
    aside.set(z, t, idle, seen)
    removed = removed + redis.call('ZREM', LINE, unpack(idle))
    redis.call('ZREM', LIVE, unpack(idle))
    redis.call('ZREM', DUE, unpack(idle))
    redis.call('HDEL', key, unpack(idle))
  end
  room = room - #idle
  if room > 0 then
    at, z.seen = at + 1, z.seen + #all / 2 - #idle
  end
end
t.waiting, t.live = redis.call('ZCARD', LINE) - 1, redis.call('ZCARD', LIVE) - 1
local further = at + 1
if from > BUCKETS then
  examined = seek_unseen(t, from - BUCKETS - 1)
  further = examined == SEEK and from + SEEK or 0
elseif at == BUCKETS then
  further = z.seen < t.waiting and further or 0
end
z.swept_to = at < BUCKETS and at or 0

local old = trim(z, t)
if further == 0 and old == TRIM then
  further = BUCKETS + 1 + t.waiting -- nobody is there: once more, while there is more of the log to forget
end
z.swept = z.swept + removed
save_zone(ZONE, z)
return { 0, further, examined, removed }
