-- lifetime: the times to live of passes that an operator has replaced. A change
-- does not concern visitors who are in already. The zone's field ttls holds pairs
-- "before ttl" in milliseconds, oldest first, at most 16: the pass of a visitor who
-- was admitted before the first number lives as long as the second says.

local LIFETIMES = 16

local function each_ttl(z)
  return string.gmatch(z.ttls, '(%d+) (%d+) ')
end

-- expires: when the pass of an admission expires.
local function expires(z, at)
  if z.ttls ~= '' then
    for before, ttl in each_ttl(z) do
      if at < tonumber(before) then
        return at + ttl
      end
    end
  end
  return at + z.ttl
end

-- longest_ttl of all, the one that holds now included.
local function longest_ttl(z)
  local longest = z.ttl
  for _, ttl in each_ttl(z) do
    longest = math.max(longest, tonumber(ttl))
  end
  return longest
end

-- prune_ttls forgets times to live that no longer matter: those of whose time no
-- admission would still be good under any later one.
local function prune_ttls(z, now)
  local first = string.match(z.ttls, '^(%d+) ')
  while first and first + longest_ttl(z) <= now do
    z.ttls = string.gsub(z.ttls, '^%d+ %d+ ', '', 1)
    first = string.match(z.ttls, '^(%d+) ')
  end
end

-- replace_ttl notes that the time to live was another until now.
local function replace_ttl(z, ttl, now)
  z.ttls = z.ttls .. string.format('%.0f %.0f ', now + 1, z.ttl)
  local _, pairs_held = string.gsub(z.ttls, '%d+ %d+ ', '')
  if pairs_held > LIFETIMES then
    z.ttls = string.gsub(z.ttls, '^%d+ %d+ ', '', 1)
  end
  z.ttl = ttl
  prune_ttls(z, now)
end
