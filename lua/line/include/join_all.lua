-- join_all: the answers to those of a call who join.
--@include join

-- read_joins returns of each who joins the id, what further ids it may have a place under, and what
-- a draw gives, nil if nothing. See poll.lua.
local function read_joins(args, first)
  local ids, further, drawn, n, sub = {}, {}, {}, 0, string.sub
  for i = first, #args do
    local arg, letter = args[i], string.byte(args[i])
    if letter == 106 then -- j
      for at = 2, #arg, 8 do
        n = n + 1
        ids[n] = sub(arg, at, at + 7)
      end
    else
      local from = letter == 100 and 26 or 2 -- d
      n = n + 1
      ids[n], further[n], drawn[n] = sub(arg, from, from + 7), sub(arg, from + 8), from > 2 and sub(arg, 2, 25) or nil
    end
  end
  return ids, further, drawn
end

-- known_of returns the set of those ids of all joins that have a place or were admitted.
local function known_of(own, further)
  local ids, n, known = own, #own, {}
  if next(further) then
    ids = { unpack(own) }
    for _, all in pairs(further) do
      for at = 1, #all, 8 do
        n = n + 1
        ids[n] = string.sub(all, at, at + 7)
      end
    end
  end
  for from = 1, n, 4000 do
    local upto = min(from + 3999, n)
    local stand = redis.call('ZMSCORE', LINE, unpack(ids, from, upto))
    local admitted = redis.call('ZMSCORE', LOG, unpack(ids, from, upto))
    for i = from, upto do
      if stand[i - from + 1] or admitted[i - from + 1] then
        known[ids[i]] = true
      end
    end
  end
  return known
end

-- join_all answers the visitors who join, whom args has from the first on: see poll.lua. It adds the
-- answers to answers.
--
-- In a rush nearly nobody is known. Newcomers who follow one another take their places together.
local function join_all(z, r, t, args, first, answers)
  if first > #args then
    return
  end
  local ids, further, drawn = read_joins(args, first)
  local known = known_of(ids, further)
  t.places, t.polls = { 'ZADD', LINE }, {}
  -- new reports whether a visitor is not known, and marks it as known: once for each, in order.
  local function new(i)
    local found, more = known[ids[i]], further[i] or ''
    for at = 1, #more, 8 do
      found = found or known[string.sub(more, at, at + 7)]
    end
    known[ids[i]] = true
    return not found
  end
  local i, n = 1, #ids
  local is_new = new(i)
  while i <= n do
    local last = i
    if not is_new then
      line_up(t)
      join(z, r, t, ids[i] .. (further[i] or ''), drawn[i] and drawn_score(z, drawn[i]), ids, i, answers)
      is_new = i < n and new(i + 1)
    else
      local room = z.max_waiting > 0 and z.max_waiting - t.waiting or n
      local together = room > 0 and all_line_up(z, r, t)
      is_new = i < n and new(last + 1)
      while together and is_new and last < n and last - i + 1 < room do
        last = last + 1
        is_new = last < n and new(last + 1)
      end
      if together then
        take(z, r, t, ids, i, last, nil, answers)
      else
        newcomer(z, r, t, ids, i, drawn[i] and drawn_score(z, drawn[i]), answers)
      end
    end
    i = last + 1
  end
  line_up(t)
end
