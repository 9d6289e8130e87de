#!lua flags=allow-oom
-- visit: take in a visit by a ticket, and say which is the newest.
--
-- KEYS[1]  string  spent  until when it is kept, ms; of the visit: which admission, until when
--                         it lasts, when its session began, ms (6 bytes each, big-endian)
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  the visit: which admission, ms; 0 only asks
-- ARGV[3]  until when it lasts, ms
-- ARGV[4]  when its session began, ms; 0 for none
-- ARGV[5]  for how long a visit is kept after its end, ms
-- ARGV[6]  how much longer than needed the key is kept, ms
--
-- Returns  {admission, until, begun} of the newest visit, in ms; {0, 0, 0} for none, {1, 0, 0} if
--          spend.lua has spent the key, as versions before 0.2 did
--
-- If the script runs twice, the second run changes nothing.

--@include clock

local SPENT = KEYS[1]
local FORMAT, SIZE = '>I6I6I6I6', 24

local now = math.floor(time(ARGV[1]) / 1000)
local is, at, ends, begun = redis.call('GET', SPENT), 0, 0, 0
if is and now < struct.unpack('>I6', is) then
  if #is ~= SIZE then
    return { 1, 0, 0 }
  end
  at, ends, begun = struct.unpack('>I6I6I6', is, 7)
end
local told, told_ends, told_begun = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if told > at then
  at, ends, begun = told, told_ends, told_begun
elseif told == at and at > 0 and (told_ends > ends or told_begun > begun) then
  ends, begun = math.max(ends, told_ends), math.max(begun, told_begun)
else
  return { at, ends, begun }
end
local kept = ends + ARGV[5]
redis.call('SET', SPENT, struct.pack(FORMAT, kept, at, ends, begun), 'PX',
  string.format('%.0f', math.max(kept - now, 0) + ARGV[6]))
return { at, ends, begun }
