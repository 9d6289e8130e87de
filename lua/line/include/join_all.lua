-- join_all: the answers to those of a call who join.
--@include join

-- known_of returns the set of those ids of all joins that have a place or were admitted.
local function known_of(args, first)
  local ids = {}
  for i = first, #args, 2 do
    local all = args[i + 1]
    for at = args[i] == 'd' and 25 or 1, #all, 8 do
      ids[#ids + 1] = string.sub(all, at, at + 7)
    end
  end
  local known = {}
  for from = 1, #ids, 4000 do
    local upto = min(from + 3999, #ids)
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

-- join_all answers the visitors who join, for each of whom args has two strings from the first
-- on: see poll.lua. It adds the answers to answers.
--
-- In a rush nearly nobody is known. Newcomers who follow one another take their places in one
-- ZADD, before anything else looks at the line.
local function join_all(z, r, t, args, first, answers)
  local n, places = #answers, { 'ZADD', LINE }
  local known = first <= #args and known_of(args, first)
  local function line_up()
    if #places > 2 then
      redis.call(unpack(places))
      for i = #places, 3, -1 do
        places[i] = nil
      end
    end
  end
  for i = first, #args, 2 do
    local ids, score, found, status, a, b, c, arrived, which = args[i + 1], nil, false
    if args[i] == 'd' then
      score, ids = drawn_score(z, ids), string.sub(ids, 25)
    end
    for at = 1, #ids, 8 do
      found = found or known[string.sub(ids, at, at + 7)]
    end
    local id = string.sub(ids, 1, 8)
    if found then
      line_up()
      status, a, b, c, arrived, which = join(z, r, t, ids, score, places, line_up)
    else
      status, a, b, c, arrived, which = newcomer(z, r, t, id, score, places, line_up)
    end
    known[id] = true
    answers[n + 1], answers[n + 2], answers[n + 3] = status, a, b
    answers[n + 4], answers[n + 5], answers[n + 6] = c, arrived, which
    n = n + 6
  end
  line_up()
end
