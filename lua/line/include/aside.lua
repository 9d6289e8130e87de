-- aside: the places of those who fell silent. A sweep takes such a place out of the line and sets it aside. Whoever
-- comes back in time stands in the line again.
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

-- apart: how many visitors beyond the edge stand between two who came back overdue, as window.Between has it.
function aside.apart(passed, present)
  if passed == 0 then
    return 1
  end
  return min(10, floor((passed + max(1, present) - 1) / max(1, present)))
end

-- overdue is where one stands who comes back when its turn is over: before all who wait, but one of the others stands
-- between two who came back. So they take half of each window at most. back_micros is where the next stands at least.
function aside.overdue(z, stands)
  stands = max(stands, z.back_micros)
  local from, far = '(' .. string.format('%.0f', stands), max(stands, z.edge_micros)
  local other = redis.call('ZRANGEBYSCORE', LIVE, from, '(inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if #other == 0 then
    other = redis.call('ZRANGEBYSCORE', LINE, '(' .. string.format('%.0f', far), '(inf', 'WITHSCORES', 'LIMIT', 0,
      aside.apart(z.passed, z.present))
  end
  z.back_micros = tonumber(other[#other] or stands) + 1
  return stands
end

-- put_back puts a visitor into the line who was in it before.
function aside.put_back(z, t, id, score)
  redis.call('ZADD', LINE, string.format('%.0f', score), id)
  t.waiting, t.open = t.waiting + 1, nil
  if score <= z.edge_micros then
    t.released = t.released + 1
  end
end

-- come_back has a visitor stand in the line again whose place is set aside. It returns where; nil if none is.
function aside.come_back(z, t, id)
  local key, stands, arrived, upto = aside.find(z, id)
  if key then
    redis.call('HDEL', key, id)
  end
  if not key or upto < t.now then
    return nil
  end
  if stands <= z.edge_micros then
    stands = aside.overdue(z, stands)
  end
  aside.put_back(z, t, id, stands)
  z.returned = z.returned + 1
  if bucket_number(stands) < z.swept_to then
    z.seen = z.seen + 1
  end
  local seen = struct.pack('>I6I2', t.now, 0)
  redis.call('HSET', bucket(stands), id, stands ~= arrived and seen .. struct.pack('>I8', arrived) or seen)
  return stands
end
