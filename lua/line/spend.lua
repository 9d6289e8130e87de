#!lua flags=allow-oom
-- spend: say whether a key is used for the first time, and remember that it is.
--
-- KEYS[1]  string  spent  when it was spent and until when that counts, ms; how often the
--                         spender has repeated the call; who the spender is
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  who spends it
-- ARGV[3]  for how long it is then spent, ms; 0 spends nothing
-- ARGV[4]  for how long the spender can repeat the call, ms
-- ARGV[5]  how often
-- ARGV[6]  how much longer than needed the key is kept, ms
--
-- Returns  1 for the first time or a repeated call, 0 spent before
--
-- If the script runs twice, the second run is a repeated call.

--@include clock

local SPENT, BY = KEYS[1], ARGV[2]
local life, repeatable, repeats = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local FORMAT, WHO = '>I6I6I1', 14

local now = math.floor(time(ARGV[1]) / 1000)
local is = redis.call('GET', SPENT)
if is then
  local at, ends, repeated = struct.unpack(FORMAT, is)
  if now < ends then
    if life <= 0 or string.sub(is, WHO) ~= BY or now - at >= repeatable or repeated == repeats then
      return 0
    end
    redis.call('SET', SPENT, struct.pack(FORMAT, at, ends, repeated + 1) .. BY, 'KEEPTTL')
    return 1
  end
end
if life > 0 then
  redis.call('SET', SPENT, struct.pack(FORMAT, now, now + life, 0) .. BY, 'PX', life + ARGV[6])
end
return 1
