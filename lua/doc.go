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
//	{zone}:marks    zset    the arrival of every 512th who lined up
//	{zone}:waits    hash    how long the admitted had waited: bucket -> how many
//	{zone}:draw:E:N string  part N of what is published of the draw of event E; for a week
//	{zone}:audit    list    changes of the settings as JSON, the newest first, 200
//	{zone}:sweep    string  the lease of the server that sweeps
//	zones           set     the zones' names; a list for people, not on any path
//	records         set     the names of zones with changes, deleted ones included
//	servers         hash    server -> when it was last here, ms, and what its secrets are
//	                        known by; see announce.go
//	{:limits}:book  hash    the policies of limits: their version, all as JSON
//	{:limits}:audit list    changes of the policies as JSON, the newest first, 200
//
//	{spent:key}     string  until when and by whom a pass or a ticket is spent; see line/spend.lua
//
// What a client has taken of a limit, each with a time to live of its own:
//
//	{:policy:tier:subject}:lN    zset    sliding_log of N seconds
//	{:policy:tier:subject}:cN    string  sliding_counter; tN, qN, fN: token_bucket,
//	                                     leaky_bucket, fixed_window
//
// Of a deleted zone the hash stays for a day, to say so, and the changes stay for
// 400 days.
//
// The seen buckets stay small enough for Redis to keep each as a listpack: 18
// bytes a visitor, and its key, where one large hash takes 64. Newcomers of one call share a few,
// each of which is one command. Exactly those in the line have a field, in the bucket of their
// score. Names are made in the scripts, from a prefix among KEYS; see docs/engineering/decisions/0003-redis-layout.md
// and 0039-seen-buckets-by-score.md. Why the log's scores have a fraction is in 0053-a-pass-is-a-past-fact.md.
//
// What is kept names its format, a number that rises when an older version must not
// touch it; see format.go. Of a newer format nothing is read or written.
//
// Redis may evict or lose any of these by itself. Which keys a zone has is in its hash, so that its next call
// notices that one is gone, and treats that as the loss of the zone's data: see line/include/presence.lua
// and docs/engineering/decisions/0054-one-key-lost.md.
//
// # Calls
//
// Joins, polls and leaves of one zone that arrive while a call is in flight
// travel together in the next one (batch.go). Scripts are sent once: a command
// whose reply is lost is not sent again by the client (see once), though every
// script would survive it. When Redis has reached maxmemory, only calls in which
// somebody joins are refused: those who wait go on, and are swept.
//
// Of those far from the front, most are answered at once with what the server remembers
// of the line between two marks, and nobody waits for Redis. It hears that they were there
// within noteAfter, in calls of up to noteBatch, those of one seen bucket in one command
// (notes.go; docs/engineering/decisions/0010-marks.md, 0036-notes-by-bucket.md). The same calls look up
// the marks anew. While Redis has too much to do, the released go first, then the newest, and whoever is
// refused leaves a note (docs/engineering/decisions/0055-a-store-that-is-behind.md).
//
// Decisions on limits are one script each, for their keys are in slots of their own;
// those that arrive while a call is in flight travel in one pipeline, in partitions by
// slot (allow.go), so that a master that hangs holds up its own partitions alone. When
// Redis has reached maxmemory none is made, and the policy says what then.
//
// # Scripts
//
// The scripts of the line are in the folder line, those of limits in limits. A script
// file begins with a header of its keys, arguments and replies. It reads its arguments,
// decides, commits and returns, in this order. A script cannot call another. So when the package is
// loaded, each line "--@include name" is replaced by the file of that name in the folder's own include,
// or in that of both folders. A file that two others include is put in once. An include defines
// functions, takes what they use as arguments, and includes what else it needs: luacheck reads each alone.
//
// # Permissions
//
// What a user of Redis needs is listed in permissions.acl, and nowhere else. A script
// that calls another command, or has another key, has it added there. Redis notes in its ACL log that +client|setinfo is not allowed. That
// does no harm, and Redis 7.0 does not know the command.
package lua
