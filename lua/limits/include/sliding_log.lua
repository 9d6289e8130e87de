-- sliding_log: when each permit was taken, kept for one window.
--
-- The key is a zset with a member for each request that was allowed. The score is the
-- moment of the request, ms. The member has, in 6 bytes, how many permits the log had
-- granted up to and with this request (38 bits) and how many of them
-- the request took (10 bits). So members are unique and in order, a request of a
-- thousand permits is one member, and the permits between two members are the
-- difference of their numbers.
--
-- The first permit in each quarter of a window, by the clock, drops the members that
-- have left the window, and renews the key's time to live.
--@include arithmetic

local OWN = 1024
-- The most permits of one member, when keep writes all of them anew.
local MOST_OWN = 1000

-- granted returns the two numbers of a member: how many permits the log had granted with
-- it, and how many of them it took.
local function granted(member)
  local n = struct.unpack('>I6', member)
  return floor(n / OWN), n % OWN
end

local function add(r, at, own)
  redis.call('ZADD', r.key, at, struct.pack('>I6', r.last * OWN + own))
end

function ALGORITHMS.l()
  local sliding_log = {}

  function sliding_log.advance(r, now)
    r.at, r.held, r.last, r.newest = now, 0, 0, now
    local newest = redis.call('ZRANGE', r.key, -1, -1, 'WITHSCORES')
    if #newest == 0 then
      return
    end
    r.last, r.newest, r.old = granted(newest[1]), tonumber(newest[2]), true
    -- If the log is mended below, the members that had left the window at its newest
    -- permit do not come back.
    r.at = max(now, r.newest)
    local oldest = redis.call('ZRANGEBYSCORE', r.key, r.at - r.window + 1, '+inf', 'LIMIT', 0, 1)
    if r.newest - now > r.window then
      r.at, r.newest, r.mended = now, now, true
    end
    if #oldest > 0 then
      local with, own = granted(oldest[1])
      r.oldest, r.first = oldest[1], with - own
      r.held = r.last - r.first
    end
  end

  -- short finds the member with which enough permits have left for the cost to fit. Each
  -- member has one permit or more, so it is among the first `over` members of the window.
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
      local with = found[1] and granted(found[1]) - r.first or math.huge
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
      -- All permits of the log count as taken now.
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
      add(r, r.newest, r.own)
    end
    if r.fresh or r.mended then
      redis.call('PEXPIRE', r.key, ttl + r.window / 4)
    end
  end

  return sliding_log
end
