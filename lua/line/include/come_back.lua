-- come_back: where those stand who come back to a place that was set aside.
--@include aside
--@include gate

-- outdated reports whether one who stands there came before people gathered for the draw, as event.Gate.Outdates.
function aside.outdated(z, t, stands)
  return stands < z.draw_from and t.now >= z.gather_at
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

-- note notes where one stands who was put back.
function aside.note(z, t, id, stands, arrived)
  if bucket_number(stands) < z.swept_to then
    z.seen = z.seen + 1
  end
  local seen = struct.pack('>I6I2', t.now, 0)
  redis.call('HSET', bucket(stands), id, stands ~= arrived and seen .. struct.pack('>I8', arrived) or seen)
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
  if stands <= z.edge_micros and not aside.outdated(z, t, stands) then
    stands = aside.overdue(z, stands)
  end
  aside.put_back(z, t, id, stands)
  z.returned = z.returned + 1
  aside.note(z, t, id, stands, arrived)
  return stands
end
