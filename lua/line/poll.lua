#!lua
-- poll: visitors of one zone poll, leave or join, in the order given.
--
-- KEYS[1..9]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     how many poll
-- ARGV[3..]   four strings for each who polls: the id (8 bytes), its seen bucket, the
--             arrival in the token, in decimal microseconds, and the token's time to be
--             due and epoch (6 bytes, in ms, and 4, big-endian) and, of a place that a
--             draw has given, the score (8 bytes, big-endian, in microseconds); and two for
--             each of the others, those who join last: a letter, and
--               l  leave: the id and the arrival in the token
--               j  join:  the id, and further ids it may have a place under
--               d  join:  the score of a draw, and the draw's range (3 times 8 bytes),
--                         and the same
--               s  nobody: '', the zone's totals are asked for
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, answers, rounded, pace, moved, waits}
--   state, pace  see include/reply.lua
--   answers  flat, in order. poll, l: status (+16 if the place was restored), then
--            position, estimate, period, or admitted at, expires at, 0.
--            j: the same, then arrival, and which of its ids it is.
--            s: TOTALS of include/zone.lua, estimate, most in a second (include/peak.lua)
--   rounded  for whose position lies between two marks: both, and the position
--   moved    of those who poll with a token that is late: which, from 1, and where
--            it stands: the arrival
--   waits    if there is an s: bucket, how many, ... (as strings); else empty
--
-- O(log n) a visitor, and at most 100 more tokens a call for the edge. Run twice,
-- it gives the same places and admissions. A visitor's refusal writes nothing.

--@include zone
--@include begin
--@include answer_all
--@include join_all
--@include peak
--@include reply

local first_other = 3 + 4 * tonumber(ARGV[2])
local first_join = first_other
while ARGV[first_join] and ARGV[first_join] ~= 'j' and ARGV[first_join] ~= 'd' do
  first_join = first_join + 2
end

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1])

local answers, moved = answer_all(z, r, t, ARGV, 3, first_other - 1)
local n, wants_stats = #answers, false
for i = first_other, first_join - 1, 2 do
  local op, what = ARGV[i], ARGV[i + 1]
  if op == 'l' then
    local id, arrived = string.sub(what, 1, 8), tonumber(string.sub(what, 9))
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4] = leave(z, t, id, arrived)
    n = n + 4
  else
    local est = estimate(r, expect(z, r, t.live), t.waiting - t.released, space(r, t), z.present, z.passed)
    est = min(DAY, t.hold + est)
    for _, total in ipairs(TOTALS) do
      n = n + 1
      answers[n] = z[total]
    end
    answers[n + 1], answers[n + 2] = est, latest_peak(z, t)
    n = n + 2
    wants_stats = true
  end
end
join_all(z, r, t, ARGV, first_join, answers)

see(z, t)
save_zone(ZONE, z)
for b, count in pairs(t.waits) do
  redis.call('HINCRBY', WAITS, b, count)
end
return {
  0, state_of(z, r, t), answers, t.rounded, pace_of(z, r, t), moved,
  wants_stats and redis.call('HGETALL', WAITS) or {},
}
