-- keys: the keys of a zone, in the order in which every script of the line takes them.
--   KEYS[1]  hash  zone   settings and state, see zone.lua
--   KEYS[2]  zset  line   visitor id -> score, in microseconds: the arrival, or what a draw gave
--   KEYS[3]  zset  live   live released visitor id -> score in the line
--   KEYS[4]  zset  due    live released visitor id -> when expected, ms
--   KEYS[5]  zset  log    visitor id -> when admitted, ms, and for how long: see expiry.lua
--   KEYS[6]  zset  departed  after a loss: visitor id -> newest arrival of a place that
--                         must not be put back
--   KEYS[7]  the common beginning of the keys of the buckets:
--            hash  seen   visitor id -> last poll (6 bytes, ms) and period
--                         (2 bytes, ms); of one whom a draw has given a place, the arrival
--                         (8 bytes, microseconds); all big-endian. Exactly the visitors in
--                         the line have a field, each in the bucket of its score
--            No key has that name. So while Redis Cluster moves the zone's slot it answers
--            every call with TRYAGAIN, and none finds half of the buckets.
--   KEYS[8]  hash  waits  how long the admitted had waited: bucket -> how many; from 1,000 on, how long they stayed
--   KEYS[9]  zset  marks  the arrival of every 512th who lined up, as member
--                         and score; see position.lua
--   KEYS[10], KEYS[11]  zsets  inside, over  see inside.lua
--   KEYS[12], KEYS[13]  hashes  aside:0, aside:1  see aside.lua
-- LINE, LIVE, DUE, INSIDE, and DEPARTED while a loss heals, have the member '' behind all others, and LOG and OVER
-- before all others. So Redis removes none of them when it is empty, and a key that is not there was lost: see
-- zone.lua.
local ZONE, LINE, LIVE, DUE, LOG, DEPARTED, SEEN, WAITS, MARKS, INSIDE, OVER =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local ASIDE = { [0] = KEYS[12], [1] = KEYS[13] }

-- make_keys makes those that a zone has to have.
local function make_keys()
  for _, key in ipairs({ LINE, LIVE, DUE, INSIDE }) do
    redis.call('ZADD', key, '+inf', '')
  end
  for _, key in ipairs({ LOG, OVER }) do
    redis.call('ZADD', key, '-inf', '')
  end
end

-- unlink_keys removes what is left of a zone that was lost, but for the seen buckets. Their fields are overwritten or
-- swept.
local function unlink_keys()
  redis.call('UNLINK', ZONE, LINE, LIVE, DUE, LOG, DEPARTED, WAITS, MARKS, INSIDE, OVER)
end

-- bucket_number is the number of the seen bucket of a score, a number or a decimal string: one of
-- 16,384, the next every 16 microseconds. So those who join in one call share a few.
local function bucket_number(score)
  score = score - score % 16
  return score / 16 % 16384
end

-- bucket is the key of the seen bucket of a score.
local function bucket(score)
  return SEEN .. bucket_number(score)
end
