-- loss: what is done when the store may have lost admissions and places.
--@include rates
--@include keys
--@include gate
--@include inside

-- newest_lost is an upper bound of the lost arrivals; newest is the newest one known. The bound is now, or more if
-- the clock is behind what it was, as on another node, or if places behind a draw have arrivals in the future.
local function newest_lost(z, now, newest)
  newest = max(newest, z.last_micros, z.now_micros)
  if draws(z, now) then
    return newest
  end
  newest = behind(z, newest)
  return newest + ((newest > z.now_micros or z.now_micros > z.raw_micros) and LOST or 0)
end

-- fill has the window and the minute count as full at a time. See window.Phantoms.
local function fill(z, r, now)
  z.lost_at, z.lost_apart, z.lost_limit, z.lost_per_minute = now, r.window + 1, r.limit + z.burst, r.per_minute
end

-- check_step notices that the clock was set forward: the latest admissions are not as old as it says. expected is
-- what it should show by a server's own clock, in ms, 0 if no server knows.
local function check_step(z, r, now, expected)
  if expected > 0 and now - expected > STEPPED and now - z.lost_at > SETTLED then
    fill(z, r, now)
  end
end

-- lose: admissions and places may have been lost, with arrivals up to the newest. The line is known to have stood
-- until alive, in milliseconds.
local function lose(z, r, now, alive, newest)
  fill(z, r, now)
  if z.heal_until <= now then
    -- A visitor who left in an earlier healing may have joined again since.
    z.heal_after, z.heal_any = z.last_micros, 0
    redis.call('UNLINK', DEPARTED)
    redis.call('ZADD', DEPARTED, '+inf', '')
  end
  if z.max_inside > 0 then
    lose_inside(z, r, now, alive)
  end
  if z.heal_from > 0 and now < z.heal_from + z.idle then
    -- Not all who waited before the earlier loss have had the time to come back.
    alive = min(alive, z.alive)
  end
  z.alive = alive
  z.last_micros = newest_lost(z, now, newest)
  z.heal_upto = z.last_micros
  z.heal_from, z.heal_until = now, now + HEAL + z.keep_place
end

-- same_data reports whether a place was taken in these data, by its epoch. While nobody
-- remembers the epoch of the lost data, every epoch counts as the same.
local function same_data(z, t, epoch)
  return epoch == z.epoch or z.heal_any == 1 and t.now < z.heal_until
end

-- phantoms: how many lost admissions may lie at or after t.
local function phantoms(z, t)
  if z.lost_at == 0 or z.lost_at < t then
    return 0
  end
  return min(z.lost_per_minute, (floor((z.lost_at - t) / z.lost_apart) + 1) * z.lost_limit)
end

-- since returns how many phantoms count from a time on, and how many of the latest entries of
-- the log count beside them. See window.Phantoms.Beside.
local function since(z, from)
  local logged, lost = redis.call('ZCOUNT', LOG, from, '+inf'), phantoms(z, from)
  if lost > 0 then
    local after = redis.call('ZCOUNT', LOG, max(from, z.lost_at), '+inf')
    if lost > logged - after then
      return lost, after
    end
  end
  return 0, logged
end

-- check_master notices a fail-over or a restart: either may have lost the last
-- second of writes, though most of the data is there.
local function check_master(z, r, now, before)
  local id = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  if z.run_id and z.run_id ~= id then
    lose(z, r, now, before, 0)
  end
  z.run_id = id
end
