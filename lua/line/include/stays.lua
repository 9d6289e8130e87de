-- stays: how long those inside stay, as window.Stays has it.
--@include flow
--@include keys
--@include zone

-- Where stays are counted among the waits.
local STAYS = 1000

-- stays_of returns how many have left, how long those inside have stayed, and since when, as window.Stays.To has them.
local function stays_of(z, now)
  local gone, stayed, since = z.gone, z.stayed, z.stays_since
  if z.stays_at == 0 then
    return gone, stayed, now
  end
  stayed = stayed + z.inside * (now - z.stays_at)
  if now - since >= 2 * MINUTE then
    return floor(gone / 2), floor(stayed / 2), now
  end
  return gone, stayed, since
end

-- count_stays has them count up to now.
local function count_stays(z, now)
  z.gone, z.stayed, z.stays_since = stays_of(z, now)
  z.stays_at = now
end

-- count_stay counts how long one has been inside.
local function count_stay(millis)
  redis.call('HINCRBY', WAITS, STAYS + wait_bucket(millis), 1)
end
