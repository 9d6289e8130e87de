-- gate: what an event has a zone do, as event.Gate has it. From gather_at on nobody is admitted
-- before opens_at, and nobody is told a position before settles_at. If there is a draw, it
-- gives visitors who join before settles_at a score from draw_from to draw_upto. The ranges
-- of earlier draws end at draw_behind.

-- draws reports whether a visitor who joins then takes part in a draw.
local function draws(z, now)
  return z.draw_upto > 0 and z.gather_at <= now and now < math.min(z.settles_at, z.opens_at)
end

-- hold works out how long nobody is admitted yet, whether people gather, and whether for a draw.
local function hold(z, t)
  t.hold, t.gathers, t.draws = 0, false, draws(z, t.now)
  if z.gather_at <= t.now and t.now < z.opens_at then
    t.hold, t.gathers = z.opens_at - t.now, t.now < z.settles_at
  end
end

-- behind is the arrival of a visitor without a draw: that time, but behind all who were drawn.
local function behind(z, arrived)
  arrived = math.max(arrived, z.draw_behind)
  return math.max(arrived, arrived >= z.gather_at * 1000 and z.draw_upto or 0)
end

-- scores reports whether score is one of the draw's.
local function scores(z, score)
  return score and z.draw_from <= score and score < z.draw_upto
end

-- drawn_score is the score that a visitor who joins has of the draw; nil if it is another's.
local function drawn_score(z, says)
  local score, from, upto = struct.unpack('>I8I8I8', says)
  return from == z.draw_from and upto == z.draw_upto and score or nil
end

-- drew reports whether a visitor with that arrival takes part in the draw.
local function drew(z, arrived)
  local millis = math.floor(arrived / 1000)
  return z.draw_upto > 0 and millis >= z.gather_at and millis < z.settles_at
end

-- space is how many visitors may enter next: before the opening, a window's worth.
local function space(r, t)
  return t.hold > 0 and r.limit or t.room
end
