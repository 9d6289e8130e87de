-- move: a visit goes on as another admission.
--@include stay

-- moves has an admission be inside until then, in the slot of the one of a millisecond before. It
-- returns as stays_in does.
local function moves(z, t, id, at, ends)
  local key = id .. struct.pack('>I6', at)
  if at <= z.revoked_upto or over_since(key) > 0 or redis.call('ZSCORE', INSIDE, key) then
    return stays_in(z, t, id, at, ends, false)
  end
  local was = tonumber(redis.call('ZSCORE', INSIDE, id .. struct.pack('>I6', at - 1)) or '')
  if not was or floor(was) <= t.from then
    return 2
  end
  done(z, t, id, at - 1, false, false)
  ends = max(ends, at + z.ttl)
  if z.by_session == 1 then
    comes(z, t, id, at, ends, 0.5)
  else
    comes(z, t, id, at, min(ends, at + z.session), 0)
  end
  return 1
end
