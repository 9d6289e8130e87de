// Package guard is what a server does against those who ask too much, before it asks
// the store: joins are limited by address and by clientId, and polls that come
// before their time are answered from memory.
//
//	join ──> joins-client ──> joins-address ──> room ──> store
//	           (clientId)       (address)        │
//	            429 <────────────── 429          └── the answer is remembered
//
//	poll ──> room ──> token genuine? ──> its time? ── yes, or not known ──> store
//	                                        │ no                              │
//	                          polls-token ──┴──> the same place,              │
//	                              429            what is left of the period <─┘ remembered
//
// # Early polls
//
// A visitor who polls before the time that it was told gets its last answer again: the same position and total, the
// estimate and the period less the time that has passed. So it is told what a patient visitor has on the screen at that
// moment, and that costs the store nothing. These polls are let through before their time:
//
//   - the last early poll of a client that polls in a rhythm of its own, if its next poll would be later than the
//     stores allow;
//   - one poll a second of each released visitor: a slot opens whenever somebody else does not come;
//   - one poll of every visitor after a change of the zone's mode, limit, window, burst or idle timeout; and all polls
//     in mode open.
//
// After a poll that went to the store, further polls of that visitor are answered from memory for apart (100 ms), so
// that a hundred at once ask the store once. A visitor who is admitted or gone is answered from memory for a second.
//
// # While the store is behind
//
// A visitor whose poll the store did not answer, though it answered others lately, gets the last answer again with another
// time to come back (late): a refusal would bring many an app back within a second, and the store further behind.
//
// # What is remembered
//
// The cache holds 262,144 visitors in a table of 17 MB, which does not grow (cache.go). When it is full, visitors who
// always came in time are forgotten first: an early poll of theirs then goes to the store. Each server has its own
// cache. So a visitor whose early polls go to several servers may be told a position that is up to a period old, and
// reaches the store once a period through each server.
//
// The stores sweep a visitor only if no poll comes for the idle timeout after the time that the visitor was told. So
// early polls that they do not see cost nobody the place (G4).
package guard
