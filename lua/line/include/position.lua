-- position: the position that a visitor far from the front is told. All visitors between
-- the same two marks are told the same: how many there are up to the mark beyond them. So
-- a server can remember it for all of them. It never rises, since marks stay where they are
-- and nobody takes a place before them. It is at most 511 too high. The first 51,200 are told
-- their exact position, even if others between the same two marks are not: see docs/engineering/decisions/0010.
--@include keys

-- How many visitors line up from one mark to the next, and how many at the front are told exact positions.
local MARK_EVERY, EXACT = 512, 51200

-- between returns the marks before and beyond an arrival, nil if there is none, and how
-- many visitors wait up to each of them. Beyond the last mark, the second number is that of
-- the mark which is to come.
local function between(text)
  local call = redis.call
  local below = call('ZREVRANGEBYSCORE', MARKS, '(' .. text, '-inf', 'LIMIT', 0, 1)[1]
  local beyond = call('ZRANGEBYSCORE', MARKS, text, '+inf', 'LIMIT', 0, 1)[1]
  local low = below and call('ZCOUNT', LINE, '-inf', below) or 0
  return below, beyond, low, beyond and call('ZCOUNT', LINE, '-inf', beyond) or low + MARK_EVERY
end

-- divide makes marks around a rank where more than MARK_EVERY visitors lie between two
-- marks: after places and their mark were lost and put back, or by a draw. Parts of half that
-- size leave room for more visitors. The numbers up to new marks are below what was told
-- there before.
local function divide(low, high, rank, part)
  local first = rank - (rank - low) % part
  for at = first - 1, first - 1 + part, part do
    if at >= low and at < high - 1 then
      local text = string.format('%.0f', redis.call('ZRANGE', LINE, at, at, 'WITHSCORES')[2])
      redis.call('ZADD', MARKS, text, text)
    end
  end
end

-- position_at_hand returns the position to tell as far as that takes no look at the line, else nil.
local function position_at_hand(t, arrived, rank)
  if rank < EXACT then
    return rank + 1
  end
  return t.open and arrived > t.open_after and rank < t.open and t.open or nil
end

-- round_up returns the position to tell, and notes what a server may remember of it.
local function round_up(t, arrived, rank)
  local at_hand = position_at_hand(t, arrived, rank)
  if at_hand then
    return at_hand
  end
  local text = string.format('%.0f', arrived)
  local below, beyond, low, high = between(text)
  local last = beyond and high or t.waiting
  if last - low > MARK_EVERY and rank >= low and rank < last then
    divide(low, last, rank, beyond and MARK_EVERY / 2 or MARK_EVERY)
    below, beyond, low, high = between(text)
    last = beyond and high or t.waiting
  end
  -- Still too many: they have the same arrival, and no mark can part them.
  if last - low > MARK_EVERY then
    return rank + 1
  end
  if not beyond then
    -- All newcomers of this call lie beyond the last mark, up to the one that is to come. Behind
    -- a draw the marks do not lie at every 512th newcomer.
    t.open, t.open_after = high, tonumber(below)
  elseif low >= EXACT then
    local n = #t.rounded
    t.rounded[n + 1], t.rounded[n + 2], t.rounded[n + 3] = tonumber(below), tonumber(beyond), high
  end
  return high
end

-- tell_spans notes what a server may remember of so many marks, from a given one on. It returns
-- the last of these marks, or 0 if no more marks follow.
local function tell_spans(t, from, most)
  local marks, n = redis.call('ZRANGEBYSCORE', MARKS, from, '+inf', 'LIMIT', 0, most), #t.rounded
  local below, low
  for _, mark in ipairs(marks) do
    local high = redis.call('ZCOUNT', LINE, '-inf', mark)
    if below and low >= EXACT and high - low <= MARK_EVERY then
      t.rounded[n + 1], t.rounded[n + 2], t.rounded[n + 3] = tonumber(below), tonumber(mark), high
      n = n + 3
    end
    below, low = mark, high
  end
  return #marks == most and tonumber(below or from) or 0
end

-- mark makes a mark of one who lines up.
local function mark(t, text)
  t.open = nil
  redis.call('ZADD', MARKS, text, text)
end
