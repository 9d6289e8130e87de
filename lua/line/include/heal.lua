-- heal: which unknown places are put back.
--@include loss

-- fresh reports whether a token is of these data, and its visitor had a place, in the line or set aside, when the line
-- was last known to stand.
local function fresh(z, t, due, epoch)
  return same_data(z, t, epoch) and due + z.idle + z.keep_place >= z.alive
end

-- was_lost reports whether an unknown place was lost rather than given up. The token says when its
-- visitor is due, in ms, and of which epoch it is.
local function was_lost(z, r, t, id, arrived, due, epoch)
  if not fresh(z, t, due, epoch) then
    return false
  end
  if arrived > z.last_micros then
    -- The signed arrival is newer than any that this store knows: so it has lost data.
    lose(z, r, t.now, t.before, arrived)
    return true
  end
  return t.now < z.heal_until and arrived > z.heal_after and arrived <= z.heal_upto
    and arrived > tonumber(redis.call('ZSCORE', DEPARTED, id) or 0)
end
