// Package window is the arithmetic of admission: how many may enter, which of those who wait are released, when the next
// slot opens, and what the others are told. It is pure: no clock, no store, only numbers in and out, nearly all of them
// integers, so that Go and Lua compute the same.
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
// The edge is an arrival time. It moves towards the newcomers until Target (2.5 windows' worth) of the visitors at or
// before it are live. A released visitor is live until a poll is late by more than GraceMillis. Visitors who are late
// already when the edge reaches them do not count as live, so people who left cost no capacity. A late visitor who comes
// back is overdue, and goes first, having an older arrival than most.
//
// A released visitor who polls enters if the window and the second have room, and fewer live released visitors are ahead
// than Reach(room). Reach exceeds the room, so that a visitor's absence leaves no slot idle. It grows with the room: the
// more slots stay idle, the more the order is loosened to fill them. The limit of a second makes the flow even. It does
// not hold while nobody waits.
//
// # What is authoritative
//
// The log of admissions is. An entry takes a slot, which is free again when the entry is older than the window. That is
// counted in milliseconds, without buckets, for the window, the minute and the second. When a store has lost its log,
// Phantoms stand for what the log may have held.
//
// # The clock
//
// All times are on the zone's clock, which follows the store's and never runs backwards (Clock).
package window
