-- glance: polls of visitors so far from the front that their caller has worked
-- out their answers from what it remembers (glance.go, round.lua). What is left
-- to do is to note that they are still there.

-- glance_all notes n visitors, and returns which of them it could not: those who
-- are not in the line, and all if one of them may be near the front.
local function glance_all(n, least)
  local missed, call, base = {}, redis.call, struct.pack('>I6', t.now)
  local far = z.mode ~= 'open' and least > z.edge_micros
  for i = 1, n do
    if far then
      local id, key = ARGV[3 * i + 2], SEEN .. ARGV[3 * i + 3]
      -- Whoever waits has a last poll, and nobody else.
      if call('HSET', key, id, base .. ARGV[3 * i + 4]) == 1 then
        call('HDEL', key, id)
        missed[#missed + 1] = i
      end
    else
      missed[i] = i
    end
  end
  z.polls = z.polls + n - #missed
  return missed
end
