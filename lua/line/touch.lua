#!lua flags=allow-oom
-- touch: note that visitors polled whom a server has answered by itself, far from the front
-- (rank_cache.go, notes.go).
--
-- KEYS[1..13]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     the epoch of the line in which they wait
-- ARGV[3]     the foremost of where they stand, in microseconds
-- ARGV[4]     the mark from which on to say what lies between them, in microseconds
-- ARGV[5]     of how many marks, 0..250
-- ARGV[6..]   for each seen bucket its name, of at most 5 digits, then two strings for each
--             who is in it: the id (8 bytes), and when it polled and what period it was told
--             (6 bytes and 2, big-endian, ms); at most 1,000 visitors in all
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, doubted, pace, rounded}; each list is packed, see include/reply.lua
--   state, pace  see include/reply.lua
--   rounded      as of poll.lua, and at the end the mark to go on with, 0 after the last
--   doubted      for which of them, from 1, Redis is to be asked the next time: visitors who are
--                not in the line, or not where the token says, of whom nothing is noted, or whom
--                the edge has reached
--
-- O(1) a visitor, unless the edge is near one of them or one is not where it says; then
-- O(log n), as for each mark. Run twice, it leaves the same.

--@include zone
--@include begin
--@include position
--@include reply

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])

-- reached reports whether the edge has passed a visitor before the note came, and then counts
-- the visitor among the live, if it polled in time.
local function reached(id, stamp)
  local arrived, polled, period = tonumber(redis.call('ZSCORE', LINE, id) or ''), struct.unpack('>I6I2', stamp)
  if not arrived or arrived > z.edge_micros then
    return not arrived -- one who is gone, of whom a version before left a field in this bucket
  end
  if polled + period + GRACE >= t.now then
    if redis.call('ZSCORE', LIVE, id) then
      t.live = t.live - 1
    else
      z.present = min(z.present + 1, z.passed)
    end
    enliven(t, id, arrived, polled + period)
  end
  return true
end

local doubted, call = {}, redis.call
local near, same = tonumber(ARGV[3]) <= z.edge_micros, tonumber(ARGV[2]) == z.epoch

-- with_arrivals returns the fields to write. For visitors whose place a draw gave, each keeps the
-- arrival that it has.
local function with_arrivals(key, first, last)
  local ids, fields = {}, {}
  for i = first, last, 2 do
    ids[#ids + 1] = ARGV[i]
  end
  for n, was in ipairs(call('HMGET', key, unpack(ids))) do
    fields[2 * n - 1], fields[2 * n] = ids[n], ARGV[first + 2 * n - 1] .. string.sub(was or '', 9)
  end
  return fields
end

-- note writes the notes of a bucket, which are ARGV[first] to ARGV[last]. Exactly the visitors
-- in the line have a field in their bucket. So if a field is new, a visitor is not in the line,
-- or not where the token says. before is how many visitors the buckets before had.
local function note(key, first, last, before)
  local new
  if z.draw_upto + z.draw_behind > 0 then
    new = call('HSET', key, unpack(with_arrivals(key, first, last)))
  else
    new = call('HSET', key, unpack(ARGV, first, last))
  end
  -- Fields of a lost line stay until they are swept.
  local doubt = new > 0 or t.now < z.heal_until
  for i = first, (doubt or near) and last or 0, 2 do
    local id, stays = ARGV[i], true
    if doubt then
      local score = call('ZSCORE', LINE, id)
      stays = score and bucket(score) == key
    end
    if not stays then
      call('HDEL', key, id)
      z.polls, new = z.polls - 1, new - 1
    end
    if not stays or near and reached(id, ARGV[i + 1]) then
      doubted[#doubted + 1] = before + (i - first) / 2 + 1
    end
  end
end

local visitors, i = 0, 6
while ARGV[i] do
  local last = i
  while ARGV[last + 1] and #ARGV[last + 1] == 8 do
    last = last + 2
  end
  local n = (last - i) / 2
  if same then
    z.polls = z.polls + n
    note(SEEN .. ARGV[i], i + 1, last, visitors)
  end
  visitors, i = visitors + n, last + 1
end
save_zone(ZONE, z)
-- While people gather more may come anywhere.
local last_mark = t.gathers and 0 or tell_spans(t, ARGV[4], tonumber(ARGV[5]))
t.rounded[#t.rounded + 1] = last_mark
return { 0, pack(state_of(z, r, t)), pack(doubted), pack(pace_of(z, r, t)), pack(t.rounded) }
