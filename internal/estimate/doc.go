// Package estimate works out how long those who wait will wait, and how sure that is. It is arithmetic on what a store
// says of the line once a second (line.Sample): no clock, no store. It has no influence on who may enter, nor on when
// anybody is asked to poll.
//
// # The model
//
// How likely a visitor is to leave depends on the share of the wait that is over, or on the time waited. A sample says
// of each visitor in it when that visitor last polled, and whether it failed to poll when it was due. A silent visitor
// stays in the line for an idle timeout, so each sample tells of the last minute: how many visitors were in which part
// of their wait, and how many left there. That gives a hazard (as Kaplan and Meier's estimator, in parts): visitors who
// are still there are censored at their last poll, and the others left between that and the poll that they missed
// (scatter). Recent events count more (recency), and older samples less and less (keep). Where little is known, earlier
// crowds of the zone count, scaled by how much this crowd differs from them.
//
// There are two hazards. By share of the wait: the front of a rush has gone through its whole wait before the back has
// waited for a minute, and tells what the others will do. By time waited: all leave alike, wherever they stand. The
// hazard that makes the samples likelier counts more (favours).
//
// # The table
//
// From the front to the back, the visitors of a sample who are there are counted, each with the probability of being
// there when its turn comes. The number ahead, at the zone's pace, gives the time of entry at each place: the table. An
// estimate is looked up by where the visitor stands, in O(log n) of at most 514 points and without an allocation. The
// time of entry does not depend on when the visitor asks. A new table moves from the one before by a tenth towards what
// was measured (gain), which evens the samples out, and by more the more it is off (pull). Between two polls of one
// visitor it moves by no more than a tenth of the wait (steady), unless it is far off.
//
// For the released there are two reckonings: the hazard; and the store's slot, which follows from the log of admissions and
// from how many released visitors came lately. The table has a geometric mean of the two. Where the store's is earlier, it
// counts the more, the fewer come (near).
//
// Slots are free until somebody asks, so people enter at less than the zone's pace: by some 1 %, or by some 6 % where the limit
// of a second is the one that holds. How much is measured minute by minute (flow).
//
// # The range
//
// The range is to hold the real wait four times out of five, and is learnt from past estimates. When it is a place's turn,
// what the tables said of it is compared with what became. The error is measured in widths, which grow with how many are
// still expected to leave and with how little is known of that. For each third of the wait, the two ends between which
// four fifths of the errors lie are adapted step by step.
//
// # Several servers
//
// Each server samples the same line. Nothing is counted during a poll, so it does not matter which server a visitor asks,
// and a server that has just started knows the last minute at once. Two servers' tables differ by chance, some 2 % for
// 512 visitors; with fewer in line the sample has all of them.
package estimate
