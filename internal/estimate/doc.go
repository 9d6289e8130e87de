// Package estimate works out how long those who wait will wait, and how sure that is. It is arithmetic on what a store
// says of the line once a second (line.Observation): no clock, no store. It has no influence on who may enter, nor on when
// anybody is asked to poll.
//
// # The model
//
// How likely a visitor is to leave depends on the share of the wait that is over. A sample says of each visitor in it
// when that visitor last polled, and whether it failed to poll when it was due. A silent visitor stays in the line for an
// idle timeout, so each sample tells of the last seconds: how many visitors were in which tenth of their wait, and how
// many left there. That gives one hazard (as Kaplan and Meier's estimator, in parts): visitors who are still there are
// censored at their last poll, and the others left somewhere between that and the poll that they missed. The front of a
// rush goes through its whole wait within seconds, and so tells what the others will do.
//
// # The table
//
// The released enter evenly from the next slot until the slot that the store expects for the first visitor beyond the
// edge. From there to the back, the visitors of a sample who are there are counted, each with the probability of being
// there when its turn comes. The number ahead, at the zone's pace, gives the time of entry at each place: the table. An
// estimate is looked up by where the visitor stands, in O(log n) of at most 514 points and without an allocation. The
// time of entry does not depend on when the visitor asks. A new table moves from the one before by a tenth towards what
// was measured (gain), which evens the samples out, and by more the more it is off (pull).
//
// # Those who come back
//
// Whoever falls silent and comes back to a place that was set aside stands before those who stayed. The totals tell how many did lately for
// each millisecond that a place was set aside (Model.back). At that pace the places that are set aside, and those of whoever is expected to
// leave, add to the numbers ahead; the range is wider by the share of those ahead who are to come so. A new crowd is taken to come back as the
// crowd before. For the first crowd of a server nobody is expected to, until some have.
//
// # A zone with a cap
//
// While as many are inside as may be, the store's pace is that of those who leave. Where no stay is renewed (insideBy: admission), the
// store says when the stays end (line.Ends), and visitors enter as they do: behind all who are inside, each waits for one who entered
// before. Those who come together leave together, so the range is as wide as the difference that a fifth more or fewer ahead would
// make. If somebody has left before the end, the pace tells. Its range is the wider, the fewer have left since the zone was full.
//
// # The range
//
// The range has a fixed shape: from wait / f to wait * f. The logarithm of f grows with the share of those ahead who are
// expected to leave, and for short waits. It is to hold the real wait at least four times out of five.
//
// # Several servers
//
// Each server samples the same line. Nothing is counted during a poll, so it does not matter which server a visitor asks,
// and a server that has just started knows the last seconds at once. Two servers' tables differ by chance, some 2 % for
// 512 visitors; with fewer in line the sample has all of them.
package estimate
