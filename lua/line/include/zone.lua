-- zone: a zone's settings and state, in one hash: reading and writing them.
--@include clock
--@include convert
--@include settings
--@include totals

-- FORMAT is the format of a zone's keys, and zoneFormat in format.go. It is raised when older
-- versions must not touch the keys any more. NEWER is the status of a
-- zone whose number is higher.
local FORMAT, NEWER = 2, 4

-- State, then settings and totals: integers, in milliseconds or counts, but the *_micros and the draw_* are
-- in microseconds. An absent field is 0. WORDS, which are texts, follow them.
local FIELDS = {
  'raw_micros', 'now_micros', 'edge_micros', 'last_micros',
  'passed', 'present', 'kept', 'missed',
  'lost_at', 'lost_apart', 'lost_limit', 'lost_per_minute',
  'heal_after', 'heal_upto', 'heal_from', 'heal_until', 'heal_any', 'alive', 'epoch', 'freeze', 'healed', 'unmarked',
  'set_micros', 'ahead_micros',
  'froze_at', 'swept_to', 'seen',
  'keep', 'keep_until',
  'aside_at', 'aside_turn', 'back_micros',
}
for _, names in ipairs({ SETTINGS, TOTALS }) do
  for _, name in ipairs(names) do
    FIELDS[#FIELDS + 1] = name
  end
end
local NUMBERS = #FIELDS
local WORDS, AT = { 'mode', 'run_id', 'deleted', 'format', 'peak', 'crowd' }, {}
for i, word in ipairs(WORDS) do
  FIELDS[NUMBERS + i], AT[word] = word, NUMBERS + i
end

-- complete reports whether Redis has all keys that a zone has to have. To ask for them counts as their use, so that
-- Redis does not evict them for being asked for seldom.
local function complete(z)
  if z.heal_until > math.floor(z.now_micros / 1000) then
    return redis.call('TOUCH', ZONE, LINE, LIVE, DUE, LOG, INSIDE, OVER, DEPARTED) == 8
  end
  return redis.call('TOUCH', ZONE, LINE, LIVE, DUE, LOG, INSIDE, OVER) == 7
end

-- load_zone returns the zone; or nil and the status: 1 unknown, 2 deleted, with what is left of it, or 4 NEWER. A zone
-- of which a key is gone is lost as a whole: it is unknown then, and the third is true.
local function load_zone(key)
  local values = redis.call('HMGET', key, unpack(FIELDS))
  if tonumber(values[AT.format] or 0) > FORMAT then
    return nil, NEWER
  end
  if not values[AT.mode] and not values[AT.deleted] then
    return nil, 1
  end
  local z = { was = values }
  for i = 1, NUMBERS do
    local n = values[i] and tonumber(values[i]) or 0
    z[FIELDS[i]], values[i] = n, n
  end
  z.mode, z.run_id = values[AT.mode], values[AT.run_id]
  z.peak = values[AT.peak] or ''
  z.revoked_upto = 0
  if values[AT.crowd] then
    set_crowd(z, values[AT.crowd])
  end
  local whole = tonumber(values[AT.format] or FORMAT) == FORMAT or convert(z, values[AT.deleted])
  if values[AT.deleted] then
    return nil, 2, z
  elseif not whole or not complete(z) then
    unlink_keys()
    return nil, 1, true
  end
  return z
end

-- save_zone writes what has changed since load_zone.
local function save_zone(key, z)
  local out = { 'HSET', key }
  for i = 1, NUMBERS do
    local v = z[FIELDS[i]]
    if v ~= (z.was[i] or 0) then
      out[#out + 1], out[#out + 2] = FIELDS[i], string.format('%.0f', v)
    end
  end
  local words = { run_id = z.run_id or '', format = tostring(FORMAT), peak = z.peak }
  words.crowd = z.session and crowd_of(z) or nil
  for _, word in ipairs(WORDS) do
    if words[word] and words[word] ~= (z.was[AT[word]] or '') then
      out[#out + 1], out[#out + 2] = word, words[word]
    end
  end
  if #out > 2 then
    redis.call(unpack(out))
  end
end

-- After a time without a call, and after a loss: as window.QuietMillis has it.
local QUIET = 3000

-- tick moves the zone's clock on to the store's time, as window.Clock does: never backwards, and
-- a tenth slower while it is ahead.
local function tick(z, override)
  local raw = time(override)
  local function at(micros)
    local passed = micros - (z.set_micros - z.ahead_micros)
    return z.set_micros + passed - math.min(z.ahead_micros, math.floor(math.max(0, passed) / 10))
  end
  local before = math.min(z.raw_micros, raw)
  if z.now_micros == 0 then
    z.now_micros = raw
  elseif z.now_micros > at(before) then
    z.set_micros, z.ahead_micros = z.now_micros, z.now_micros - before
  end
  local last = math.floor(z.now_micros / 1000)
  z.raw_micros, z.now_micros = raw, math.max(z.now_micros, at(raw))
  local now = math.floor(z.now_micros / 1000)
  if z.max_inside > 0 and last > 0 and now - last > QUIET then -- servers ask once a second: the store was away
    z.quiet_at, z.quiet_until = last, now + QUIET
  end
  return now
end
