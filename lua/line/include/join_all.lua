-- join_all: the answers to those of a call who join.
--@include join

-- read_joins returns of each join in args the visitor's id, all ids under which it may have a place,
-- and what a draw gives, false if nothing. See poll.lua.
local function read_joins(args, first)
  local ids, all, drawn = {}, {}, {}
  for i = first, #args do
    local arg, n = args[i], i - first + 1
    local from = string.byte(arg) == 100 and 26 or 2 -- d
    ids[n] = string.sub(arg, from, from + 7)
    all[n] = #arg == from + 7 and ids[n] or string.sub(arg, from)
    drawn[n] = from > 2 and string.sub(arg, 2, 25)
  end
  return ids, all, drawn
end

-- known_of returns the set of those ids of all joins that have a place or were admitted.
local function known_of(own, all)
  local ids, n, known = {}, 0, {}
  for i, one in ipairs(all) do
    n = n + 1
    ids[n] = own[i]
    for at = 9, #one, 8 do
      n = n + 1
      ids[n] = string.sub(one, at, at + 7)
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

-- join_all answers the visitors who join, for each of whom args has a string from the first on: see
-- poll.lua. It adds the answers to answers.
--
-- In a rush nearly nobody is known. Newcomers who follow one another take their places together.
local function join_all(z, r, t, args, first, answers)
  if first > #args then
    return
  end
  local ids, all, drawn = read_joins(args, first)
  local known = known_of(ids, all)
  t.places, t.polls = { 'ZADD', LINE }, {}
  -- new reports whether a visitor is not known, and has it known from now on.
  local function new(i)
    local found = known[ids[i]]
    for at = 9, #all[i], 8 do
      found = found or known[string.sub(all[i], at, at + 7)]
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
      join(z, r, t, all[i], drawn[i] and drawn_score(z, drawn[i]), ids, i, answers)
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
