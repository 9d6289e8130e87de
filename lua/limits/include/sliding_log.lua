-- sliding_log: when each permit was taken, for as long as the window.
--
-- The key is a zset of requests: the moment is the score, ms; and the member has,
-- in 6 bytes, how many permits the log had granted with it (38 bits, which may wrap)
-- and how many of them were its own (10 bits). So members are unique and in order,
-- a request of a thousand permits is one member, and how many there are between two
-- is a subtraction.
--
-- What has left the window is dropped, and the key's time to live renewed, with the
-- first permit in each quarter of a window of the clock.
--@include arithmetic

local OWN, WRAP = 1024, 2 ^ 38
-- Of one member, when many are made one.
local MOST_OWN = 1000

local sliding_log = {}

-- granted is how many permits there were with a member, and how many its own.
local function granted(member)
  local n = struct.unpack('>I6', member)
  return floor(n / OWN), n % OWN
end

local function add(r, at, own)
  redis.call('ZADD', r.key, at, struct.pack('>I6', r.last * OWN + own))
end

function sliding_log.advance(r, now)
  r.at, r.held, r.last, r.newest = now, 0, 0, now
  local newest = redis.call('ZRANGE', r.key, -1, -1, 'WITHSCORES')
  if #newest == 0 then
    return
  end
  r.last, r.newest, r.old = granted(newest[1]), tonumber(newest[2]), true
  -- Of a log that is mended, what had left it by its newest permit has left it.
  r.at = max(now, r.newest)
  local oldest = redis.call('ZRANGEBYSCORE', r.key, r.at - r.window + 1, '+inf', 'LIMIT', 0, 1)
  if r.newest - now > r.window then
    r.at, r.newest, r.mended = now, now, true
  end
  if #oldest > 0 then
    local with, own = granted(oldest[1])
    r.oldest, r.first = oldest[1], with - own
    r.held = (r.last - r.first) % WRAP
  end
end

-- short finds the member with which so many have left that the cost fits. There is
-- one permit or more to a member, so it is at most as many members on.
function sliding_log.short(r, cost)
  local over = r.held + cost - r.limit
  if over <= 0 then
    return 0
  elseif r.mended then
    return r.window
  end
  local lo = redis.call('ZRANK', r.key, r.oldest)
  local hi = lo + over - 1
  local look = hi
  while true do
    local found = redis.call('ZRANGE', r.key, look, look, 'WITHSCORES')
    local with = found[1] and (granted(found[1]) - r.first) % WRAP or WRAP
    if with == over or lo == hi then
      return found[2] + r.window - r.at
    elseif with > over then
      hi = look
    else
      lo = look + 1
    end
    look = floor((lo + hi) / 2)
  end
end

function sliding_log.take(r, _, cost)
  local quarter = r.window / 4
  r.fresh = not r.oldest or r.at - r.at % quarter > r.newest
  r.held, r.last, r.newest, r.own = r.held + cost, r.last + cost, r.at, cost
end

function sliding_log.left(r)
  return r.limit - r.held, r.held > 0 and r.newest + r.window - r.at or 0
end

function sliding_log.keep(r, ttl)
  if r.mended then
    -- All of them are of this moment now.
    redis.call('UNLINK', r.key)
    for n = 0, r.held - 1, MOST_OWN do
      r.last = math.min(n + MOST_OWN, r.held)
      add(r, r.newest, r.last - n)
    end
  else
    if r.old and not r.oldest then
      redis.call('UNLINK', r.key)
    elseif r.old and r.fresh then
      redis.call('ZREMRANGEBYSCORE', r.key, '-inf', r.at - r.window)
    end
    if r.last >= WRAP then
      -- Past the others of this millisecond, which have higher numbers.
      r.last, r.newest = r.last - WRAP, r.newest + 1
    end
    add(r, r.newest, r.own)
  end
  if r.fresh or r.mended then
    redis.call('PEXPIRE', r.key, ttl + r.window / 4)
  end
end

ALGORITHMS.l = sliding_log
