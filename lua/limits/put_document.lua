#!lua flags=allow-oom
-- put_document: replace a document: the policies of limits, or the operators' credentials.
--
-- KEYS[1]  hash  book   the document: its version, its text as json, and the format
-- KEYS[2]  list  audit  changes as JSON, the newest first
-- ARGV[1]  clock override in microseconds, '' for the server's clock
-- ARGV[2]  the version that was read, 0 for no document
-- ARGV[3]  the version of this one
-- ARGV[4]  its text
-- ARGV[5]  what changes, a JSON array of objects; '' for what is not recorded
-- ARGV[6]  how many changes are kept
--
-- Returns  0 done, 1 the version is another, 2 the document is of a newer format
--
-- If the script runs twice, the second run changes nothing and returns 0.

--@include clock

local BOOK, AUDIT = KEYS[1], KEYS[2]
-- The format of the document and of an entry of its record: documentFormat and
-- recordFormat in format.go.
local FORMAT, ENTRY = 1, 1

local is = redis.call('HMGET', BOOK, 'version', 'json', 'format')
if tonumber(is[3] or 0) > FORMAT then
  return 2
end
local version = tonumber(is[1] or 0)
if version == tonumber(ARGV[3]) and is[2] == ARGV[4] then
  return 0
end
if version ~= tonumber(ARGV[2]) then
  return 1
end
redis.call('HSET', BOOK, 'version', ARGV[3], 'json', ARGV[4], 'format', FORMAT)
if ARGV[5] ~= '' then
  local millis = math.floor(time(ARGV[1]) / 1000)
  redis.call('LPUSH', AUDIT, string.format('{"format":%d,"at":%.0f,"changes":%s}', ENTRY, millis, ARGV[5]))
  redis.call('LTRIM', AUDIT, 0, tonumber(ARGV[6]) - 1)
end
return 0
