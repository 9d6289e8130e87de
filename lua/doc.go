// Package lua is the Redis store: for many servers, on one Redis 7.0 or later,
// Sentinel, or Redis Cluster. It is the only package that speaks Redis: it
// builds every key and reads every reply.
//
// # Layout
//
// Every key of a zone carries the hash tag {zoneId}, so a zone lives on one node
// and its decisions are one script each, atomic, on that node's clock:
//
//	{zone}:zone     hash    settings, their digest, and state
//	{zone}:line     zset    visitor id (8 bytes) -> arrival or score of a draw, microseconds
//	{zone}:live     zset    live released id -> arrival
//	{zone}:due      zset    live released id -> expected poll, ms
//	{zone}:log      zset    id -> admission, ms, with the pass's life in the fraction (expiry.lua);
//	                        for the life of a pass
//	{zone}:departed zset    after a loss: id -> newest arrival not to be put back
//	{zone}:seen:N   hash    id -> last poll and period (8 bytes), and the arrival (8) of who
//	                        was drawn; N = 0..16383 by the score in the line
//	{zone}:aside:N  hash    id -> when it was set aside, where it stood, its arrival: see line/include/aside.lua; N is 0 or 1
//	{zone}:marks    zset    the arrival of every 512th who lined up
//	{zone}:waits    hash    how long the admitted had waited: bucket -> how many
//	{zone}:draw:N   string  the list of the draw with nonce N; for a week
//	{zone}:audit    list    changes of the settings as sealed JSON, the newest first
//	{zone}:record   hash    the record's sealed head, and large values of its entries: see include/record.lua
//	{zone}:sweep    string  the lease of the server that sweeps
//	zones           set     the zones' names; a list for people, not on any path
//	records         set     the names of zones with changes, deleted ones included
//	servers         hash    server -> when it was last here, ms, and what its secrets are
//	                        known by; see announce.go
//	{:limits}:book  hash    the policies of limits: their version, all as JSON
//	{:limits}:audit, {:limits}:record, {:operators}:audit, {:operators}:record, {:operators}:refusals,
//	{:operators}:refusals:record    the same of the policies, the operators and refusals
//	{:operators}:book hash  the operators' credentials, as internal/operate/people has signed them
//	{:webhook:name}:book hash  how far a webhook has been told, as internal/operate/webhook has written it
//
//	{spent:key}     string  until when and by whom a pass is spent, see line/spend.lua; the newest visit by a ticket, see line/visit.lua
//
// What a client has taken of a limit, each with a time to live of its own:
//
//	{:policy:tier:subject}:lN    zset    sliding_log of N seconds
//	{:policy:tier:subject}:cN    string  sliding_counter; tN, qN, fN: token_bucket,
//	                                     leaky_bucket, fixed_window
//
// Of a deleted zone the hash stays for a day, to say so, and the changes stay as long as an entry is kept. Each visitor in the line has a
// field in exactly one seen bucket, that of the score. The buckets are small enough for Redis to keep each as a listpack:
// 18 bytes a visitor where one large hash takes 64. The decisions 0003, 0039 and 0053 in docs/engineering say more.
//
// What is kept names its format (format.go). Redis may evict or lose any key by itself. A zone's hash has which keys there
// are, so its next call notices that one is gone: see line/include/presence.lua and decision 0054.
//
// # Calls
//
// Joins, polls and leaves of one zone that arrive while a call is in flight travel together in the next one (batch.go). So
// do decisions on limits, by parts of the slots (allow.go). The client sends no script twice (see once), though every
// script would survive it. Most visitors far from the front are answered from memory (rank_cache.go, decision 0010), and
// Redis hears of them later (notes.go). While Redis has too much to do, the released go first, then the newest (decision
// 0055). When Redis has reached maxmemory, it refuses only calls in which somebody joins, and limits.
//
// # Scripts
//
// A file begins with a header of its keys, arguments and replies. It decides, commits and returns, in this order. Each line
// "--@include name" is replaced by that file of the folder's own include, or of include, once.
package lua
