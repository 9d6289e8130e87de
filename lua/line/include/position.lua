-- position: what position that is told to one who is far from the front. Whoever lies
-- between the same two marks is told the same: how many there are up to the mark
-- beyond. So a server can remember it for all of them, and since marks stay where
-- they are and nobody goes before them, it never rises. It is at most 511 too
-- high, and exact for the first 51,200, also for those of them who lie between the
-- same two marks as others behind: see docs/decisions/0010.
--@include keys

-- How many line up from one mark to the next, and up to where marks do not matter.
local MARK_EVERY, EXACT = 512, 51200

-- between returns the marks before and beyond an arrival, if there are such, and
-- how many wait up to the one and up to the other. Beyond the last mark there is
-- room up to the next.
local function between(text)
  local call = redis.call
  local below = call('ZREVRANGEBYSCORE', MARKS, '(' .. text, '-inf', 'LIMIT', 0, 1)[1]
  local beyond = call('ZRANGEBYSCORE', MARKS, text, '+inf', 'LIMIT', 0, 1)[1]
  local low = below and call('ZCOUNT', LINE, '-inf', below) or 0
  return below, beyond, low, beyond and call('ZCOUNT', LINE, '-inf', beyond) or low + MARK_EVERY
end

-- divide makes marks about a rank, where more than MARK_EVERY lie between two:
-- places that were lost with their mark, and put back, or a draw. Parts of half that size
-- leave room for more. The numbers up to new marks are below what was told there: beyond
-- the last mark, that is where there is room up to.
local function divide(low, high, rank, part)
  local first = rank - (rank - low) % part
  for at = first - 1, first - 1 + part, part do
    if at >= low and at < high - 1 then
      local text = string.format('%.0f', redis.call('ZRANGE', LINE, at, at, 'WITHSCORES')[2])
      redis.call('ZADD', MARKS, text, text)
    end
  end
end

-- round_up returns the position, and notes what the caller may remember.
local function round_up(t, arrived, rank)
  if rank < EXACT then
    return rank + 1
  end
  if t.open and arrived > t.open_after and rank < t.open then
    return t.open
  end
  local text = string.format('%.0f', arrived)
  local below, beyond, low, high = between(text)
  local last = beyond and high or t.waiting
  if last - low > MARK_EVERY and rank >= low and rank < last then
    divide(low, last, rank, beyond and MARK_EVERY / 2 or MARK_EVERY)
    below, beyond, low, high = between(text)
    last = beyond and high or t.waiting
  end
  -- Still too many, if they have one arrival.
  if last - low > MARK_EVERY then
    return rank + 1
  end
  if not beyond then
    -- Beyond the last mark are all newcomers of this call, as far as there is room: behind a
    -- draw, marks do not lie where newcomers count to.
    t.open, t.open_after = high, tonumber(below)
  elseif low >= EXACT then
    local n = #t.rounded
    t.rounded[n + 1], t.rounded[n + 2], t.rounded[n + 3] = tonumber(below), tonumber(beyond), high
  end
  return high
end

-- tell_spans notes what the caller may remember of so many marks from one on, and returns
-- the last of them; 0 when there are no more.
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

-- mark_newcomer makes a mark of every 512th who lines up.
local function mark_newcomer(z, t, text)
  z.unmarked = z.unmarked + 1
  if z.unmarked == MARK_EVERY then
    z.unmarked, t.open = 0, nil
    redis.call('ZADD', MARKS, text, text)
  end
end
