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
// Who polls before the time that it was told gets the answer that it has already:
// the same position and total, the estimate and the period less what has passed.
// So whoever asks early is told what a patient visitor has on the screen at that
// moment, and it costs the store nothing. Let through ahead of time are
//
//   - the last poll before it would be late: a client that polls in a rhythm of its
//     own is let through on the beat before its time, if the one after would miss it
//     by more than the stores allow;
//   - those who are released, once a second: a slot opens whenever somebody else
//     does not come;
//   - everybody, once, after a change of the zone's mode, limit, window, burst or
//     idle timeout; and always in mode open.
//
// A poll that is let through holds off others of the same visitor for 200 ms, so
// that a hundred at once ask the store once. Who is in, or gone, is answered from
// memory for a second.
//
// # What is remembered
//
// 262,144 visitors in a table of 17 MB, which does not grow (cache.go). Of more
// than that, those are forgotten who always came in time; an early poll of theirs
// then goes to the store. The cache is this server's own. Visitors whose polls go
// to several servers and are early may so be told again a place that is up to a
// period old, and the polls of such a one pass each server once a period.
//
// The stores remove whoever is missed for the idle timeout after the time told, so
// that polls which they do not see before then cost nobody the place (G4).
package guard
