-- token_bucket: the debt, which is what was taken and has not come back. In its unit a
-- permit is the window in ms, and the limit comes back each ms.
--@include arithmetic
--
-- The key is a string of two numbers: the moment for which the debt holds, ms; and the debt.

local BUCKET = '>I6I7'

function ALGORITHMS.t()
  local token_bucket = {}

  function token_bucket.advance(r, now)
    r.at, r.held = now, 0
    local value = redis.call('GET', r.key)
    if not value then
      return
    end
    local at, held = struct.unpack(BUCKET, value)
    if at - now > r.window then
      r.held, r.mended = held, true
      return
    end
    r.at = max(now, at)
    -- If all of the debt is back, r.held stays 0. The product cannot exceed the debt.
    local back = r.at - at
    if back < ceil(held, r.limit) then
      r.held = held - back * r.limit
    end
  end

  function token_bucket.short(r, cost)
    local over = r.held + (cost - r.permits) * r.window
    return over > 0 and ceil(over, r.limit) or 0
  end

  function token_bucket.take(r, _, cost)
    r.held = r.held + cost * r.window
  end

  function token_bucket.left(r)
    return floor((r.permits * r.window - r.held) / r.window), ceil(r.held, r.limit)
  end

  function token_bucket.keep(r, ttl)
    redis.call('SET', r.key, struct.pack(BUCKET, r.at, r.held), 'PX', ttl)
  end

  return token_bucket
end
