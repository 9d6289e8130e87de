-- touch: polls of visitors so far from the front that their caller has worked
-- out their answers from what it remembers (rank_cache.go, position.lua). What is
-- left to do is to note that they are still there.
--@include keys

-- touch_all notes n visitors, of whom args has three strings each from the first on:
-- see poll.lua. It returns which of them it could not: those who are not in the line,
-- and all if the least of their arrivals may be near the front.
local function touch_all(z, t, args, first, n, least)
  local untouched, call, base = {}, redis.call, struct.pack('>I6', t.now)
  local far = z.mode ~= 'open' and least > z.edge_micros
  for i = 1, n do
    if far then
      local at = first + 3 * (i - 1)
      local id, key = args[at], SEEN .. args[at + 1]
      -- Whoever waits has a last poll, and nobody else.
      if call('HSET', key, id, base .. args[at + 2]) == 1 then
        call('HDEL', key, id)
        untouched[#untouched + 1] = i
      end
    else
      untouched[i] = i
    end
  end
  z.polls = z.polls + n - #untouched
  return untouched
end
