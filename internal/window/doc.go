// Package window is the arithmetic of admission: how many may enter, who of
// those waiting is let near the front, when the next slot opens, what to tell
// the others. It is pure: no clock, no store, numbers in and numbers out, all
// of them integers, so that Go and Lua compute the same.
//
// # The rule
//
//	far from the front          | released                       | inside
//	arrival  > edge            | arrival <= edge                |
//	polls after 5/14 of the    | live: came when told, has an   | in the log of
//	wait that is expected      | appointment for the next slots | admissions
//	                           | overdue: missed it             |
//	      ------ Target: the edge moves so that Target are live ----->
//	                                        ---- Reach: who may enter now -->
//
// An edge lies in the line at an arrival time. It moves towards the newcomers
// until Target (2.5 windows' worth) of those at or below it are live. A visitor
// is live who has not missed the time at which the last answer asked for the
// next poll, by more than GraceMillis. Those who already are late when the edge
// reaches them do not count, so people who left cost no capacity; one of them
// who comes back is live again, and goes first, having the older arrival.
//
// A released visitor who polls enters when the window and the second have room and
// fewer live released visitors are ahead than Reach(room). Reach exceeds the room
// itself, so that nobody's absence leaves a slot idle, and grows with the room, so that
// slots that stay idle loosen the order just as much as is needed to fill them. The
// limit of a second makes the flow even; while nobody waits it does not hold.
//
// # What is authoritative
//
// The log of admissions. A slot is taken by an entry and free again when the
// entry is older than the window: counted in milliseconds, with no buckets,
// for the window, the minute and the second. When a store has lost its log, Phantoms
// stand in for what it may have held (see there).
//
// # The clock
//
// One clock counts: the store's, and on it time never runs backwards (Clock).
package window
