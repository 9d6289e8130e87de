// Package split simulates a zone whose line is spread over several parts, each
// on a store node of its own: the answer to a zone that outgrows a node. It is a
// design with evidence, not a feature: nothing in the server uses it. What it
// means for operators, and what it costs, is in docs/scaling.md.
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
// offer back, some twenty times a second:
//
//	part   -> ledger   its life, the offer that holds, admitted so far; who
//	                   waits at the front; the part's clock
//	ledger -> part     life, offer number, A; E is made by the carrier: the
//	                   clock in the report, and seven eighths of the validity
//
// Counts are cumulative and offers numbered, so that messages may be lost,
// repeated and reordered. A part begins a new life, with a name that no life
// had before and with nothing lent, whenever it may have lost writes: on another
// server process or replica, or on finding its data gone.
//
// # Why no window is exceeded
//
// An admission is open from when its slot is lent, and goes on record when the
// ledger hears of it, or finds that the lease has ended that it was lent under.
// The ledger lends only while what is on record in the window up to now, and
// all that is open, stay within the limit. It holds that
//
//	(1) each admission is open from when it is lent until it is on record, and
//	(2) it goes on record at its own time or later.
//
// Take any window [s, s+w] and the last moment g at which anything was lent that
// is used in it; so g <= s+w. All that is used in the window was lent by then.
// At g each such admission was open, by (1), and counted; or on record, by (2)
// as of a time in [s, g]. That is not before g-w, so it was counted, too. The
// ledger lent at g, so the sum was within the limit. The minute is proved in the
// same way, and nothing was said of how often the ledger is asked.
//
// (1) holds since open is the largest allowance of any offer that may hold, less
// what is on record. An offer may hold until the part has named a later one; and
// then the report that does also counts all that was used under the earlier. A
// report with another life opens the count anew, and what the former may use
// stays open as an orphan until its lease has ended. A life is heard of for the
// first time before it was lent anything; should the ledger have known it before
// (an old report comes late, or two masters of a part both go on), all that it
// was lent is on record or an orphan, and counting begins from what it says.
//
// (2) holds for what is heard of, since hearing comes after. For what is not,
// the lease must end for the part before it does for the ledger. The part counts
// seven eighths of the validity from its clock as it was before the ledger was
// asked, the ledger all of it from when it lent. So it does, however long the
// messages took, while the part's clock runs at most an eighth slower than the
// ledger's: clocks need not agree. (window.Clock slews by a tenth.) This is all
// that is asked of clocks; but a ledger whose clock is set forward within a
// lease takes it for ended too soon, and what is open then may come twice.
//
// A ledger that lost writes does not know what it lent: it lends nothing until
// the last such lease must have ended and a window has passed, for it counts the
// window as full up to then (window.Phantoms, which stand for the same today).
// They are no fewer than any log that kept the limits, so they stand for what
// was open, on record or an orphan, whatever state the ledger went back to.
//
// # Who gets how much
//
// The ledger gives what there is to the oldest arrivals, over all parts: a
// report has the number of the live released and a few of their arrivals, and
// between these they are taken as evenly spread. A part that is not heard of is
// passed over when its lease has ended.
package split
