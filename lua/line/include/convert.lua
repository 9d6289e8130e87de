-- convert: the data of format 1 become those of format 2, at the first call of a server that knows this.
--@include keys
--@include crowd

-- DROPPED are the fields of a zone's hash that format 2 has no longer.
local DROPPED = { 'has_line', 'has_live', 'has_log', 'has_marks', 'has_waits', 'has_departed', 'lost_steps' }

-- convert does so with a zone that was loaded. It reports whether all keys are there that format 1 has to have.
local function convert(z, deleted)
  local has = redis.call('HMGET', ZONE, unpack(DROPPED))
  local want = (tonumber(has[1]) or 0) + 2 * (tonumber(has[2]) or 0) + (tonumber(has[3]) or 0)
  redis.call('HDEL', ZONE, unpack(DROPPED))
  z.heal_from = math.max(0, z.heal_until - 600000)
  local text = redis.call('HGET', ZONE, 'json')
  if text then -- each pattern with parameters took requests with others, too
    text = text:gsub('\\\\', '\1'):gsub('\\"', '\2') -- each " begins or ends a string now
    for _, name in ipairs({ 'bypassPaths', 'donePaths' }) do
      local _, at = text:find('"' .. name .. '":[', 1, true)
      while at do
        local _, upto, pattern = text:find('^"([^"]*)"', at + 1)
        if upto and pattern:find('?', 1, true) and not pattern:find('\\u0026%*$') then
          text = text:sub(1, upto - 1) .. '\\u0026*' .. text:sub(upto)
          upto = upto + 7
        end
        at = upto and text:sub(upto + 1, upto + 1) == ',' and upto + 1
      end
    end
    text = text:gsub('"idleTimeoutSeconds":%d+', '%0,"keepPlaceSeconds":0', 1) -- nor was any place set aside
    text = text:gsub('\2', '\\"'):gsub('\1', '\\\\')
    redis.call('HSET', ZONE, 'json', text, 'digest', redis.sha1hex(text))
  end
  if z.session then
    z.lost_most, z.lost_from = z.lost_inside, 0
  end
  if deleted then -- lost_until is where format 1 has until when the latest of those inside are there
    return true
  elseif redis.call('EXISTS', LINE, LIVE, DUE, LOG) < want then
    return false
  end
  if z.session then
    z.lost_until = z.lost_inside > 0 and math.floor(z.now_micros / 1000) + math.max(z.session, z.ttl) or 0
  end
  make_keys()
  redis.call('ZADD', DEPARTED, '+inf', '')
  redis.call('PERSIST', DEPARTED)
  return true
end
