#!lua flags=allow-oom
-- report: a server reports the sessions of those inside, and asks which admissions are done.
--
-- KEYS[1..13]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     since when to say which admissions were done, ms
-- ARGV[3]     the loss, as state has it, for which the next argument is; 0 for none
-- ARGV[4]     how many may have been inside then, by what the server had heard
-- ARGV[5]     of each admission, at most 256, a letter, the id (8 bytes), and when it was given (6, ms)
--               h  it is here, and (6) for how much longer at least, ms
--               g  the same of one whose session begins with this
--               m  the same of one that takes the slot of the one of a millisecond before
--               d  it is done, and (6) nothing
--               n  the same of one that is only named
--               b  the same of one that was done before the loss
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, statuses, over, since}; but over each list is packed, see include/reply.lua
--   state     see include/reply.lua
--   statuses  of each admission: 0 unknown, or begins too soon after a loss, 1 inside, 2 over
--   over      those that were done, at most 5,000: 14 bytes for each
--   since     ARGV[2] for the next call
--
-- O(log n) an admission. Run twice, it leaves the same, but that sessions may last longer.

--@include zone
--@include begin
--@include stay
--@include move
--@include reply

local OVER_MOST = 5000

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])
if z.max_inside == 0 then
  save_zone(ZONE, z)
  return { 0, pack(state_of(z, r, t)), pack({}), '', pack({ t.now }) }
end

if ARGV[3] ~= '0' and tonumber(ARGV[3]) == z.heal_from then
  raise_unknown(z, tonumber(ARGV[4]))
end
local statuses = {}
for i = 1, #ARGV[5], 21 do
  local what, id, at, left = struct.unpack('>c1c8I6I6', ARGV[5], i)
  if what == 'h' or what == 'g' then
    statuses[#statuses + 1] = stays_in(z, t, id, at, t.now + left, what == 'g')
  elseif what == 'm' then
    statuses[#statuses + 1] = moves(z, t, id, at, t.now + left)
  else
    statuses[#statuses + 1] = done(z, t, id, at, what == 'n', what == 'b')
  end
end

local later = tonumber(ARGV[2])
local over = redis.call('ZRANGEBYSCORE', OVER, string.format('%.0f', later), '+inf', 'LIMIT', 0, OVER_MOST)
if #over > 0 then
  later = tonumber(redis.call('ZSCORE', OVER, over[#over]))
end

refill(z, r, t)
save_zone(ZONE, z)
return { 0, pack(state_of(z, r, t)), pack(statuses), table.concat(over), pack({ later }) }
