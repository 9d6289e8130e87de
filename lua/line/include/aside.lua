-- aside: the places of those who fell silent. A sweep takes such a place out of the line and sets it aside. Whoever
-- comes back in time stands in the line again (come_back.lua).
--   ASIDE  two hashes   visitor id -> when it was set aside (6 bytes, ms), where it stood (8 bytes,
--                       microseconds), and the arrival (8 bytes) where that differs; all big-endian
-- The sweep fills one of the two for keep_place, and then unlinks the other and fills that. So a place is there for
-- keep_place at least, and two look-ups tell for how long it has been aside. Of the zone's fields, aside_at is when the
-- sweep began to fill the one with the number aside_turn, 0 or 1; aside_at is 0 while neither is there.
-- Redis may lose these keys: a place that is not there is given up. They outlive the loss of the zone's other keys.
--@include place

-- most is as zone.MaxAside. The rest are functions: Lua allows 200 locals a script.
local aside = { most = 4000000 }

-- count returns how many places are set aside, those included whose time is over.
function aside.count(z)
  return z.aside_at == 0 and 0 or redis.call('HLEN', ASIDE[0]) + redis.call('HLEN', ASIDE[1])
end

-- turn has the sweep fill the other key when the first was filled for keep_place.
function aside.turn(z, t)
  if z.aside_at == 0 or z.keep_place > 0 and t.now - z.aside_at < z.keep_place then
    return
  end
  z.aside_turn, z.aside_at = 1 - z.aside_turn, t.now
  redis.call('UNLINK', ASIDE[z.aside_turn])
  if z.keep_place == 0 or aside.count(z) == 0 then
    redis.call('UNLINK', ASIDE[0], ASIDE[1])
    z.aside_at = 0
  end
end

-- set sets places aside that are in the line, as far as there is room. seen has what their seen buckets have of each.
function aside.set(z, t, ids, seen)
  local room = z.keep_place > 0 and (z.max_waiting > 0 and z.max_waiting or aside.most) - aside.count(z) or 0
  local fields, stands = {}, room > 0 and redis.call('ZMSCORE', LINE, unpack(ids)) or {}
  for i = 1, min(room, #ids) do
    if stands[i] then
      fields[#fields + 1] = ids[i]
      fields[#fields + 1] = struct.pack('>I6I8', t.now, tonumber(stands[i])) .. string.sub(seen[i], 9)
    end
  end
  if #fields > 0 then
    z.aside_at = z.aside_at > 0 and z.aside_at or t.now
    redis.call('HSET', ASIDE[z.aside_turn], unpack(fields))
    z.set_aside = z.set_aside + #fields / 2
  end
end

-- find returns the key that has the visitor's place, where it stood, its arrival, and until when it is kept; nil if it
-- is not set aside.
function aside.find(z, id)
  for turn = 0, z.aside_at > 0 and 1 or -1 do
    local is = redis.call('HGET', ASIDE[turn], id)
    if is then
      local at, stands = struct.unpack('>I6I8', is)
      return ASIDE[turn], stands, #is > 14 and struct.unpack('>I8', is, 15) or stands, at + z.keep_place
    end
  end
end

-- drop gives up a place that is set aside, if its arrival is not later than that.
function aside.drop(z, id, arrived)
  local key, _, its = aside.find(z, id)
  if key and its <= arrived then
    redis.call('HDEL', key, id)
  end
end
