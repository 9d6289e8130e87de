-- join_all: the answers to those of a call who join.
--@include join

-- read_joins returns the id of each who joins, and what the draw gives it (drawn_score), nil if nothing. See poll.lua.
local function read_joins(args, first)
  local ids, drawn, n, sub = {}, {}, 0, string.sub
  for i = first, #args do
    local arg = args[i]
    if sub(arg, 1, 1) == 'j' then
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

-- known_of returns the set of those ids that have a place, in the line or set aside, or were admitted.
local function known_of(z, ids)
  local known = {}
  for turn = 0, z.aside_at > 0 and 1 or -1 do
    for i, is in ipairs(redis.call('HMGET', ASIDE[turn], unpack(ids))) do
      known[ids[i]] = known[ids[i]] or is and true
    end
  end
  local stand, admitted = redis.call('ZMSCORE', LINE, unpack(ids)), redis.call('ZMSCORE', LOG, unpack(ids))
  for i, id in ipairs(ids) do
    known[id] = known[id] or (stand[i] or admitted[i]) and true
  end
  return known
end

-- join_all answers the visitors who join, whom args has from the first on: see poll.lua. It adds the
-- answers to answers.
local function join_all(z, r, t, args, first, answers)
  if first > #args then
    return
  end
  local ids, drawn = read_joins(args, first)
  local known, n = known_of(z, ids), #answers
  for i = 1, #ids do
    local id = ids[i]
    local score = drawn[i] and drawn_score(z, drawn[i])
    local join = newcomer
    if known[id] then
      write_places()
      join = join_again
    end
    known[id] = true
    answers[n + 1], answers[n + 2], answers[n + 3], answers[n + 4], answers[n + 5] = join(z, r, t, id, score)
    n = n + 5
  end
  write_places()
end
