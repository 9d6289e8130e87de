// Package estimate works out how long those who wait will wait, and how sure that is. It
// is arithmetic on what a store says of the line once a second (line.Sample): no clock, no
// store. It changes nothing of who may enter, nor when anybody is asked to poll.
//
// # The model
//
// How likely one is to leave depends on how much of the wait is over, or on how long one has waited. Of each who is
// sampled it is known when it was last here, and whether it failed to come when it was due;
// who is silent stands in the line for an idle timeout yet. So each sample tells of the
// last minute: how many were watched in which part of their wait, and how many left there.
// That is a hazard (Kaplan and Meier's, in parts); who is still there is censored at the last poll, who left did so in
// between (scatter). What is young counts more (recency), samples are forgotten
// one after another (keep), and where little is known counts what earlier crowds of the
// zone did, in the measure in which this one differs from them.
//
// By share, the front of a rush has gone through all of its wait before the back has waited for a minute, and tells
// what the others will do. By time, all leave alike, wherever they stand. The one counts that makes likelier what is seen (favours).
//
// # The table
//
// From the front to the back the sampled are counted who are there, each with the
// probability that it will be there when its turn comes. What is ahead, at the zone's pace,
// gives the time of entry at each place: the table. An estimate is looked up by where the visitor stands,
// in O(log n) of at most 514 points and without an allocation. That time does not depend
// on when the visitor asks, so it stays as it is unless the table learns; a table moves
// by a tenth (gain) from the one before towards what was measured, and by more the more it is off (pull), which evens the samples out;
// but between two polls of one visitor by no more than a tenth of the wait (steady), unless it is far off.
//
// Of the released, the store's slot knows the log of admissions and who came of those before; the hazard knows how people leave. The
// table has the mean of the two, or the store's where that is earlier and people leave by the share of their wait (near).
//
// # The range
//
// It holds the real wait four times of five, as far as past estimates were so good: when
// the turn comes to a place, what the tables said of it is compared with what became, in
// widths that grow with the number who are still expected to leave and with what is not known
// of them. The ends between which four fifths of that lie, for each third of the wait, are followed step by step.
//
// # Several servers
//
// Each samples the same line. Nothing is counted in the way of a poll, so it does not
// matter which server a visitor asks, and a server that has just started knows of the last minute at once.
// Two tables differ by what chance does to 512 visitors, some 2 %; with fewer in line all are looked at.
package estimate
