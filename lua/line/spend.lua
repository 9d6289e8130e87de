#!lua flags=allow-oom
-- spend: say whether a key is used for the first time, and remember that it is.
--
-- KEYS[1]  string  spent  until when it is spent, ms; who the spender is
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  who spends it
-- ARGV[3]  for how long it is then spent, ms; 0 spends nothing
-- ARGV[4]  how much longer than needed the key is kept, ms
--
-- Returns  1 for the first time or a repeated call of the same spender, 0 spent before
--
-- If the script runs twice, the second run is a repeated call.

--@include clock

local SPENT, BY = KEYS[1], ARGV[2]
local life = tonumber(ARGV[3])
local FORMAT, WHO = '>I6', 7

local now = math.floor(time(ARGV[1]) / 1000)
local is = redis.call('GET', SPENT)
if is and now < struct.unpack(FORMAT, is) then
  return life > 0 and string.sub(is, WHO) == BY and 1 or 0
end
if life > 0 then
  redis.call('SET', SPENT, struct.pack(FORMAT, now + life) .. BY, 'PX', life + ARGV[4])
end
return 1
