#!lua flags=allow-oom
-- announce: a server says that it is here and which secrets it has. It is refused if
-- another server that is here has other secrets.
--
-- KEYS[1]  hash  servers  a server's name -> when it was here last, in ms, and the
--                         fingerprints of its secrets, the one that signs first
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  the server's name
-- ARGV[3]  how long a server counts as here after it was, ms
-- ARGV[4]  the fingerprints of its secrets, separated by blanks, the one that signs first
--
-- Returns  how many servers are here, this one included; 0 another has other secrets, and it is not here
--
-- Two servers fit if each has the secret with which the other signs. Bounded by the
-- number of servers. Run twice, the second changes nothing.

--@include clock

local SERVERS = KEYS[1]
local now = math.floor(time(ARGV[1]) / 1000)

local function has(all, one)
  return string.find(' ' .. all .. ' ', ' ' .. one .. ' ', 1, true)
end

local function first(all)
  return string.match(all, '%S+')
end

local all, gone, here = redis.call('HGETALL', SERVERS), {}, 1
for i = 1, #all, 2 do
  local at, theirs = string.match(all[i + 1], '^(%d+) (.+)$')
  -- A time in the future was written before the clock was set back.
  if not at or math.abs(now - at) > tonumber(ARGV[3]) then
    gone[#gone + 1] = all[i]
  elseif all[i] ~= ARGV[2] and not (has(ARGV[4], first(theirs)) and has(theirs, first(ARGV[4]))) then
    return 0
  else
    here = here + (all[i] ~= ARGV[2] and 1 or 0)
  end
end
for _, name in ipairs(gone) do
  redis.call('HDEL', SERVERS, name)
end
redis.call('HSET', SERVERS, ARGV[2], string.format('%.0f %s', now, ARGV[4]))
redis.call('PEXPIRE', SERVERS, ARGV[3])
return here
