-- make_zone: a zone that begins. clock: the clock override, see put_zone.lua.
--@include zone
--@include keys
--@include rates

-- new_zone is a zone of which nothing is known.
local function new_zone(clock)
  unlink_keys() -- of a zone whose hash alone was lost
  local z = { was = {}, peak = '', revoked_upto = 0 }
  for i = 1, NUMBERS do
    z[FIELDS[i]] = 0
  end
  z.epoch = epoch_of(time(clock))
  return z
end

-- make_again makes a zone of what a deleted one has left. The line that was deleted stays deleted.
local function make_again(z, clock)
  tick(z, clock)
  z.last_micros = max(z.last_micros, z.now_micros)
  z.epoch = max(epoch_of(time(clock)), z.epoch + 1)
  redis.call('HDEL', ZONE, 'deleted')
  return z
end
