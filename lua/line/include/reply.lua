-- reply: what every reply says of the zone.
--@include begin

-- pack returns whole numbers, fewer than 8,000, as one string, 8 bytes each, big-endian. A list of
-- them would cost Redis, and who reads it, several times as much.
local function pack(numbers)
  return struct.pack('>' .. string.rep('i8', #numbers), unpack(numbers))
end

-- state_of: now, edge, last arrival, waiting, released, live, in window, in minute, window
-- limit, edge passed, edge live, epoch, lost at; while nobody is admitted yet, when people are
-- settled and when it opens; when the clock was last set back, and by how much the zone's was
-- ahead then; how many are inside, how many of them unknown, whether the cap holds (1), and for how long somebody can
-- be.
local function state_of(z, r, t)
  return {
    t.now, z.edge_micros, z.last_micros, t.waiting, t.released, t.live,
    t.in_window, t.in_minute, r.limit, z.passed, z.present, z.epoch,
    z.heal_from, t.hold > 0 and z.settles_at or 0, t.hold > 0 and z.opens_at or 0,
    z.set_micros, z.ahead_micros,
    t.inside, z.max_inside > 0 and z.lost_inside or 0, t.full and 1 or 0,
    z.max_inside > 0 and longest_of(z, t.now) or 0,
  }
end

-- pace_of: live released expected to come, room, how many a minute enter from a line,
-- longest period, and whether those who are far wait (1): in an open zone (0) everybody enters.
local function pace_of(z, r, t)
  return { expect(z, r, t.live), space(r, t), r.pace, r.cap, z.mode == 'open' and t.hold == 0 and 0 or 1 }
end
