#!lua flags=allow-oom
-- put_document: replace a document, such as the policies of limits, and note that in records.
--
-- KEYS[1]  hash  book   the document: its version, its text as json, and the format
-- KEYS[2]  list  audit, KEYS[3]  hash  record: see include/record.lua; none for what is not recorded
-- KEYS[4]  list  refusals, KEYS[5]  hash  refusals:record: the same of a second record, if there is one
-- ARGV[1]  the version that was read, 0 for no document
-- ARGV[2]  the version of this one
-- ARGV[3]  its text
-- ARGV[4]  the audit.Addition to the first record, as JSON
-- ARGV[5]  to the second
--
-- Returns  0 done, 4 it is so already, 1 the version is another, 2 the document is of a newer format, 3 a record has
--          changed since it was read
--
-- If the script runs twice, the second run changes nothing and returns 4.

--@include record

local BOOK, AUDIT, RECORD, REFUSALS, REFUSALS_RECORD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- The format of the document: documentFormat in format.go.
local FORMAT = 1

local is = redis.call('HMGET', BOOK, 'version', 'json', 'format')
if tonumber(is[3] or 0) > FORMAT then
  return 2
end
local version = tonumber(is[1] or 0)
if version == tonumber(ARGV[2]) and is[2] == ARGV[3] then
  return 4
end
if version ~= tonumber(ARGV[1]) then
  return 1
end
local change = ARGV[4] and cjson.decode(ARGV[4])
local refusal = ARGV[5] and cjson.decode(ARGV[5])
if change and moved(RECORD, change) or refusal and moved(REFUSALS_RECORD, refusal) then
  return 3
end
redis.call('HSET', BOOK, 'version', ARGV[2], 'json', ARGV[3], 'format', FORMAT)
if change then
  note(AUDIT, RECORD, change)
end
if refusal then
  note(REFUSALS, REFUSALS_RECORD, refusal)
end
return 0
