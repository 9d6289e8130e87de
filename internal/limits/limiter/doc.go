// Package limiter decides whether a client may go on: what every guard asks,
// before which policies hold (see internal/limits/limit for those).
//
// # The way of a question
//
//	Check ── policy, tier ──> known to be refused?  yes ──> refused, from memory
//	                                │ no
//	              scope server ─────┼───── scope shared
//	                    │                      │
//	                  Local            its partition is calm?  no ──> failure policy:
//	                    │                  yes │                 open, closed, local
//	                 verdict                 Store ── error ──────^
//	                                           │
//	                          verdict; a refusal is remembered
//
// # The memory of refusals
//
// A refusal says when the next permit is there; until then nothing can make the
// answer another one, but a change of the policy or of its Scale. So it is remembered: until the
// moment at which the request was sent, plus the wait that the store told. The
// store decided later than that, so the memory ends at the true moment or up to
// the time of a call before it, never after. It is a table of fixed size
// (refusalcache.go), read without a lock and without allocating.
//
// What was refused is found by a hash whose seed belongs to one version of one
// tier and to the question's Scale: when an operator changes a policy, or the zone that it
// is fitted to, the refusals of before are not found any more.
//
// # A store that does not answer
//
// Keys are spread over partitions, as the store says: those of one partition fail together.
// One error makes a partition fail at once; that its queue is full is one, too. From then
// on none of its questions goes to the store, and each is answered by its policy:
//
//	open    allowed
//	closed  refused
//	local   by Local, at this server's share of each rule: 1/n of it with n servers,
//	        rounded down, at least 1
//
// A question of our own, in the slot of the one that failed, asks the store every
// 250 ms whether it is back, with visitors or without. Three answers in a row, and
// the partition is calm again. When a partition begins to fail, all others are asked the same
// way, once; and so is one whose client gave up too soon for the store to be blamed. So a
// store that hangs keeps those waiting who ask in the first moments: until the first of them
// has waited for the store's own time limit, and our questions for it once more; and nobody
// after.
//
// # What may be let through in excess
//
// A limit of L on n servers with share s = max(1, L/n rounded down), "local":
//
//   - The store goes on counting by what it had, when it is back; each server's
//     Local by what it had, in the next outage. So in any window there are at most
//     L permits of the store and n*s of the servers: 2*L when n <= L, however often
//     the partition changes over. (Up to twice as many on each side for a fixed_window,
//     as ever.)
//   - A store that comes back empty adds L.
//   - Where n > L, n*s is n: a share is never less than 1.
//
// With "open" the excess has no bound, with "closed" there is none. The other way
// round, a request whose reply was lost may have been counted: less by as many.
//
// # Keys that are split
//
// A policy with shards counts each key in so many parts, each of which has its
// share of every rule. Questions go round the parts that are not known to refuse,
// to at most two of them; what is left is told as if all parts had as much as the
// one that answered, and the wait is the shortest of those known. The whole is never
// exceeded; a client may be refused while a part that was not asked has room.
package limiter
