// Package split simulates a zone whose line is spread over several parts, each
// on a store node of its own: the answer to a zone that outgrows a node. It is a
// design with evidence, not a feature: nothing in the server uses it.
//
// # The parts
//
// A visitor's id says which part the visitor waits in, so that a poll asks one
// node, as today, and a repeated join finds the same place. Each part is a line
// as it is now: arrivals, an edge of its own, appointments. What it may not do
// by itself is admit, for the limits are the zone's.
//
// # Leases
//
// One more key, the ledger, on one of the nodes, knows the limits. It lends each
// part an allowance: "admit until your count is A, before time E". The part's
// script admits while its count is below A and its clock before E; a poll asks
// nobody else. Some server carries a report from the part to the ledger and an
// offer back, a few times a second:
//
//	part   -> ledger   admitted so far, and how long ago each was; the offer
//	                   that holds; who waits at the front; the part's clock
//	ledger -> part     offer number, A; E is made by the carrier: the clock
//	                   in the report, plus the validity
//
// Counts are cumulative and offers numbered, so that messages may be lost,
// repeated and reordered.
//
// # Why no window is exceeded
//
// The ledger counts, at any time t of its clock, the admissions that were
// reported and lie in the window before t, and all that is lent and may still
// be used: the largest allowance of any offer that the part may hold, less what
// it reported. It lends more only while the sum is below the limit.
//
// Take any window [s, s+w], and the last moment g at which anything was lent
// that is used in it; so g <= s+w. Whatever was used in the window was lent by
// then. At g each such admission was either still lent, and counted; or
// reported, and is on record at its time or later: at s or later, so not before
// g-w, and counted; or its lease had ended unreported, and then it went on
// record as of the end of the lease, which is later than its use, and is
// counted too. So all of them were counted at g, and the sum was within the
// limit. The minute is proved in the same way.
//
// Three things make "on record at its time or later" true without clocks that
// agree. An admission is reported by its age, on the part's clock alone, and the
// ledger takes its age off the time of arrival, which is after that of the
// report. A lease ends for the part a validity after its own clock as it was
// before the ledger was asked, and for the ledger a validity after it lent: so
// the part stops first, however long the messages took. And clocks need only
// run equally fast, within a hundredth; a part that restarts or fails over
// begins a new epoch with nothing lent, since its clock and its count may have
// gone back, and what was lent to the old epoch stays counted until it ends.
//
// A ledger that lost its latest writes does not know what it lent: it lends
// nothing until the last such lease must have ended, and counts its window as
// full up to then (window.Phantoms, which stand for the same today).
//
// # Who gets how much
//
// The ledger gives what there is to the oldest arrivals, over all parts: each
// report names the arrivals at evenly spaced ranks among the live released. So
// the order across parts is that of one line, to within a stride.
package split
