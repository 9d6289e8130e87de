#!lua flags=allow-oom
-- observe: what a server asks each second of a zone: its state and totals, and some of those who wait,
-- evenly spread over the line.
--
-- KEYS[1..13]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     as in poll.lua
-- ARGV[3]     how many to look at, at most, 0..1000
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, pace, totals, waits, flow, seen, ends}; each list is packed, see include/reply.lua
--   state, pace  see include/reply.lua
--   totals TOTALS of include/zone.lua, the estimate for one who joins, most in a second (include/peak.lua),
--          how many are set aside (include/aside.lua)
--   waits  bucket, how many, ...
--   flow   how many a minute enter from a line, when the next slot opens, when the visitors enter who
--          have as many ahead as the two whole numbers about those of the live released who are
--          expected to come, what is left over at the first of them, and of how many parts;
--          the share of the live that is expected to come, in the same parts; where the first of
--          the live stands
--   seen   of each: where it stands, last poll, period
--   ends   where no stay is renewed: how many more may be inside, how many are, and when some of their stays
--          end, in order
--
-- O(log n) for each who is looked at, and at most 100 more tokens for the edge.

--@include zone
--@include begin
--@include admit
--@include wait
--@include peak
--@include aside
--@include reply

-- enters is when a visitor with so many ahead enters if all of them come, as window.Rates.Enters has it.
local function enters(z, r, t, ahead)
  local step = max(r.per_second, floor((r.limit * SECOND + r.window - 1) / r.window))
  local again = max(
    r.window + 1, floor(r.limit * (SECOND + 1) / r.per_second), floor(r.limit * MINUTE / max(1, r.per_minute)))
  local at = 0
  for earlier = 0, min(ahead, r.limit + step - 1), step do
    local from = ahead - earlier
    local first = opens(z, r, t, from % r.limit)
    at = max(at, first + floor(from / r.limit) * again + floor(earlier * (SECOND + 1) / r.per_second))
  end
  return t.full and t.hold == 0 and max(at, leaves(r, ahead, t.cap, t.now)) or at
end

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1], ARGV[2])
local half = floor(r.trust / 2)
local share, parts = z.kept + half, z.kept + z.missed + half
local come = floor(t.live * share / parts)
local front = t.live > 0 and redis.call('ZRANGE', LIVE, 0, 0, 'WITHSCORES')[2]
local flow = {
  r.pace, opens(z, r, t, 0), enters(z, r, t, come), enters(z, r, t, come + 1), t.live * share % parts, parts, share,
  front and tonumber(front) or z.edge_micros,
}

local totals = {}
for i, total in ipairs(TOTALS) do
  totals[i] = z[total]
end
totals[#totals + 1] = far_wait(z, r, t, t.waiting - t.released)
totals[#totals + 1] = latest_peak(z, t)
totals[#totals + 1] = aside.count(z)

local seen = {}
local n = t.gathers and 0 or min(t.waiting, tonumber(ARGV[3]))
for i = 0, n - 1 do
  local from, to = floor(i * t.waiting / n), floor((i + 1) * t.waiting / n)
  local rank = from + (floor(t.now / 97) + i * 7919) % (to - from)
  local one = redis.call('ZRANGE', LINE, rank, rank, 'WITHSCORES')
  local polled = redis.call('HGET', bucket(one[2]), one[1])
  if polled then
    local at, period = struct.unpack('>I6I2', polled)
    seen[#seen + 1], seen[#seen + 2], seen[#seen + 3] = tonumber(one[2]), at, period
  end
end
-- As line.EndRank and line.MaxEnds have it.
local ends = {}
if z.max_inside > 0 and z.by_session == 0 then
  local some = min(z.inside, 16)
  ends = { t.cap, z.inside }
  for i = 0, some - 1 do
    local rank = floor(i * (z.inside - 1) / max(1, some - 1))
    ends[#ends + 1] = floor(tonumber(redis.call('ZRANGE', INSIDE, rank, rank, 'WITHSCORES')[2]))
  end
end
save_zone(ZONE, z)
return {
  0, pack(state_of(z, r, t)), pack(pace_of(z, r, t)), pack(totals), pack(redis.call('HGETALL', WAITS)),
  pack(flow), pack(seen), pack(ends),
}
