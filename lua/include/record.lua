-- record: who changed what. One entry a change, which the server has composed and sealed: package audit says how.
--   list  audit   the entries as JSON, the newest first
--   hash  record  head: the sealed head. Large values of entries, each under its SHA-256; under last: with that, the
--                 number of the newest entry that refers to the value

-- moved reports whether the record has another head than the one that an addition follows.
local function moved(record, addition)
  return (redis.call('HGET', record, 'head') or '') ~= addition.head
end

-- note adds an entry, and trims the oldest ones.
local function note(audit, record, addition)
  redis.call('LPUSH', audit, addition.text)
  redis.call('LTRIM', audit, 0, addition.keep - 1)
  redis.call('HSET', record, 'head', addition.next)
  redis.call('PERSIST', audit) -- that of a deleted zone ends some day
  redis.call('PERSIST', record)
  for hash, value in pairs(addition.texts) do
    redis.call('HSET', record, hash, value, 'last:' .. hash, string.format('%.0f', addition.n))
  end
  for _, hash in ipairs(addition.drop) do
    if tonumber(redis.call('HGET', record, 'last:' .. hash) or 0) <= addition.upto then
      redis.call('HDEL', record, hash, 'last:' .. hash)
    end
  end
end
