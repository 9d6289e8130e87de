-- join_all: the answers to those of a call who join.
--@include join

-- read_joins returns of each who joins the id, and what a draw gives, nil if nothing. See poll.lua.
local function read_joins(args, first)
  local ids, drawn, n, sub = {}, {}, 0, string.sub
  for i = first, #args do
    local arg = args[i]
    if string.byte(arg) == 106 then -- j
      for at = 2, #arg, 8 do
        n = n + 1
        ids[n] = sub(arg, at, at + 7)
      end
    else
      n = n + 1
      ids[n], drawn[n] = sub(arg, 26), sub(arg, 2, 25)
    end
  end
  return ids, drawn
end

-- known_of returns the set of those ids that have a place or were admitted.
local function known_of(ids)
  local known, n = {}, #ids
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
  local ids, drawn = read_joins(args, first)
  local known = known_of(ids)
  t.places, t.polls = { 'ZADD', LINE }, {}
  -- new reports whether a visitor is not known, and marks it as known: once for each, in order.
  local function new(i)
    local found = known[ids[i]]
    known[ids[i]] = true
    return not found
  end
  local i, n = 1, #ids
  local is_new = new(i)
  while i <= n do
    local last = i
    if not is_new then
      line_up(t)
      join(z, r, t, drawn[i] and drawn_score(z, drawn[i]), ids, i, answers)
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
