#!lua flags=allow-oom
-- tell: a server tells of the sessions of those inside, and asks which admissions are done.
--
-- KEYS[1..11]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     since when to say which admissions were done, ms
-- ARGV[3]     1 to say how many are inside until when
-- ARGV[4]     the loss, as state has it, for which the next argument is; 0 for none
-- ARGV[5]     how many were inside until when, as far as the server knows: "ends count " for each step
-- ARGV[6]     of each admission, at most 256, a letter, the id (8 bytes), and when it was given (6, ms)
--               h  it is here, and (6) for how much longer at least, ms
--               d  it is done, and (6) nothing
--               n  the same of one that is only named
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, statuses, over, since, steps}; but over each list is packed, see include/reply.lua
--   state     see include/reply.lua
--   statuses  of each admission: 0 unknown, 1 inside, 2 over
--   over      those that were done, at most 5,000: 14 bytes for each
--   since     ARGV[2] for the next call
--   steps     until when, and how many of those inside, phantoms not included
--
-- O(log n) an admission and a step. Run twice, it leaves the same, but that sessions may last longer.

--@include zone
--@include begin
--@include stay
--@include reply

local OVER_MOST = 5000

-- steps_of is how many are inside until when, in steps.
local function steps_of(t)
  local last, steps = tonumber(redis.call('ZREVRANGE', INSIDE, 0, 0, 'WITHSCORES')[2] or 0), {}
  for ends = t.from - t.from % STEP_MILLIS + STEP_MILLIS, last + STEP_MILLIS, STEP_MILLIS do
    local n = redis.call('ZCOUNT', INSIDE, max(t.from, ends - STEP_MILLIS) + 1, ended(ends))
    if n > 0 then
      steps[#steps + 1], steps[#steps + 2] = ends, n
    end
  end
  return steps
end

-- lost_besides takes in how many a server knows to have been inside when data was lost: those whom the store
-- does not count become phantoms. The latest were lost.
local function lost_besides(z, t)
  if tonumber(ARGV[4]) == 0 or tonumber(ARGV[4]) ~= max(0, z.heal_until - HEAL) then
    return
  end
  local steps, missing = {}, 0
  for ends, n in string.gmatch(ARGV[5], '(%d+) (%d+) ') do
    if tonumber(ends) > t.now then
      steps[#steps + 1], missing = { tonumber(ends), tonumber(n) }, missing + tonumber(n)
    end
  end
  missing = missing + unheard_of(z, missing) - z.inside - z.lost_inside
  local lost = {}
  for i = #steps, 1, -1 do
    local n = min(missing, steps[i][2])
    if n > 0 then
      lost[#lost + 1], missing = { steps[i][1], n }, missing - n
    end
  end
  lose_inside(z, lost)
end

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])
if z.max_inside == 0 then
  save(z, r, t)
  return { 0, pack(state_of(z, r, t)), pack({}), '', pack({ t.now }), pack({}) }
end

lost_besides(z, t)
local statuses = {}
for i = 1, #ARGV[6], 21 do
  local what, id, at, left = struct.unpack('>c1c8I6I6', ARGV[6], i)
  if what == 'h' then
    statuses[#statuses + 1] = stays_in(z, t, id, at, t.now + left)
  else
    statuses[#statuses + 1] = done(z, t, id, at, what == 'n')
  end
end

-- Sessions that a server had begun until it heard of it are over by then.
local old = redis.call('ZCOUNT', OVER, '-inf', t.now - 2 * z.session - MINUTE)
if old > 0 then
  redis.call('ZREMRANGEBYRANK', OVER, 0, min(old, OVER_MOST) - 1)
end
z.has_over = redis.call('EXISTS', OVER)
local later = tonumber(ARGV[2])
local over = redis.call('ZRANGEBYSCORE', OVER, string.format('%.0f', later), '+inf', 'LIMIT', 0, OVER_MOST)
if #over > 0 then
  later = tonumber(redis.call('ZSCORE', OVER, over[#over]))
end

local steps = ARGV[3] == '1' and steps_of(t) or {}
refill(z, r, t)
save(z, r, t)
return { 0, pack(state_of(z, r, t)), pack(statuses), table.concat(over), pack({ later }), pack(steps) }
