// Package limiter decides by policies (internal/limits/limit) whether a client may go on. The
// guard of this server, gateways and other services ask it.
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
// A refusal says when the next permit is there. Until then only a change of the policy or of
// its Scale can change the answer. So the refusal is remembered, from the moment at which the
// request was sent, for as long as the store told: never longer than it holds. It is found by a hash
// whose seed belongs to one version of one tier, and into which the Scale goes. So after a change the
// earlier refusals are not found any more.
//
// # A store that does not answer
//
// The store spreads keys over partitions: the keys of one partition fail together. One error
// is enough to count a partition as failing; a full queue is an error, too. From then on no
// question about its keys goes to the store, and each is answered by its policy:
//
//	open    allowed
//	closed  refused
//	local   by Local, at this server's share of each rule: 1/n of it with n servers,
//	        rounded down, at least 1
//
// The limiter itself then asks the store every 250 ms whether it is back: a probe, in the slot
// of the request that failed. After three answers in a row the partition is calm again. No client waits
// for a store that hangs, but those who ask before the first of them has waited for its timeout.
//
// # What may be let through in excess
//
// A limit of L on n servers with share s = max(1, L/n rounded down), "local":
//
//   - When the store is back, it goes on from its former counts. In the next outage, so does
//     Local of each server. So in any window there are at most L permits of the store and n*s
//     of the servers: 2*L if n <= L, however often the partition fails. (With a fixed_window
//     it may be twice as many on each side, as always.)
//   - A store that comes back empty adds L.
//   - If n > L, n*s is n, since a share is never less than 1.
//
// With "open" the excess has no bound, with "closed" there is none.
package limiter
