#!lua
-- poll: visitors of one zone poll, leave or join, in the order given.
--
-- KEYS[1..13]  see include/keys.lua
-- ARGV[1]     clock override in microseconds, '' for the server's clock
-- ARGV[2]     what the zone's clock should show by the clock of the server that calls, in ms; 0 if it does not know
-- ARGV[3..]   one string for each visitor: a letter, and what goes with it. All who join without
--             a draw and follow one another may share a string. Numbers are
--             big-endian, times in microseconds where nothing else is said. First come those who
--             p  poll:  the id (8 bytes); of the token the arrival (8), when it is due, in ms
--                       (6), and the epoch (4); where a draw gives or has given the place, the score (8)
--             then those who
--               l  leave: the id; of the token the arrival, and when it was admitted, in ms (6), or 0
--             and last those who
--               j  join:  the id of each
--               d  join:  the score of a draw, and the draw's range (3 times 8 bytes), the id
--
-- Returns  {1} zone unknown, {2} zone deleted, {4} its data is of a newer format, or
--          {0, state, answers, rounded, pace, moved}; each list is packed, see include/reply.lua
--   state, pace  see include/reply.lua
--   answers  four numbers for each visitor who polls or leaves, five for each who joins, in order:
--            a status, see include/admit.lua; 16 more if the place was put back
--            who waits: position, estimate and period, in ms; who is admitted: when, until when, and the
--            admission's running number, 0 of an earlier one;
--            who joins: the arrival. So 0 1234 61000 9400 is a visitor who waits at position 1,234.
--   rounded  of each pair of marks between which an answered visitor stands: both marks, and the position told between
--            them. A server answers with that position while it remembers the marks.
--   moved    of each visitor whose poll's token is late and names another arrival than the place has: the number of the
--            poll in this call, from 1, and the arrival. The server then signs a token with that arrival.
--
-- O(log n) a visitor, and at most 100 more tokens a call for the edge. A call that runs twice gives the same places and
-- admissions as one that runs once. A visitor who is refused changes nothing.

--@include zone
--@include begin
--@include answer_all
--@include join_all
--@include peak
--@include reply

local z, missing = load_zone(ZONE)
if not z then
  return { missing }
end
local r = rates_of(z.per_minute, z.window, z.idle, z.max_per_second)
local t = begin(z, r, ARGV[1], ARGV[2])

-- upto returns the first argument from i on that does not begin with the letter.
local function upto(i, letter)
  while ARGV[i] and string.sub(ARGV[i], 1, 1) == letter do
    i = i + 1
  end
  return i
end

local first_leave = upto(3, 'p')
local first_join = upto(first_leave, 'l')
local answers, moved = answer_all(z, r, t, ARGV, 3, first_leave - 1)
leave_all(z, t, ARGV, first_leave, first_join - 1, answers)
join_all(z, r, t, ARGV, first_join, answers)

see(z, t)
save_zone(ZONE, z)
for b, count in pairs(t.waits) do
  redis.call('HINCRBY', WAITS, b, count)
end
return {
  0, pack(state_of(z, r, t)), pack(answers), pack(t.rounded), pack(pace_of(z, r, t)), pack(moved),
}
