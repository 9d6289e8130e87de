// Package sweeper removes the places of those who have gone silently, in every
// zone, at every tick of a cron schedule.
//
// # What a run does
//
//	for each zone
//	    may it be swept?  ── no ──> skip it this time (guard.go)
//	    batch by batch until the store says that the zone is done, or that
//	    another server is at it (line.Sweep.Busy)
//
// Each batch is one call that examines at most 5,000 places. Every server runs
// every tick: the lease in the store saves the work of all but one, and the
// batch itself checks, in the same script, that nobody is removed who polled
// within the idle timeout. So two sweepers at once waste time, no more. A sweep
// looks at all who wait, of whom Redis has some million a second (BenchmarkSweep in package lua).
//
// # When a zone may be swept
//
// A visitor is idle only if it had the chance to poll. So a server sweeps a zone only after it has watched the zone for
// one idle timeout, without a gap, and with the store's clock in step with its own. So a crowd is not taken for idle
//
//   - when the store's clock jumps forward, as at a fail-over to a node whose
//     clock is ahead: a jump of 60 s would make all idle at once;
//   - when the store comes back with an old copy, in which nobody has polled lately;
//   - when nobody could poll, because the store was away;
//   - when a server starts, perhaps after all of them were down;
//   - when, for a quarter of that time, this server was overloaded (overload.go) or the store left a tenth of the
//     calls of the zone's visitors unanswered: polls may not have got through. No other server sweeps the zone
//     meanwhile. That lasts for two idle timeouts or two minutes at most, whichever is more. A newcomer whom a full
//     store refuses has been answered.
//
// # Failures
//
// A zone that cannot be swept does not stop the others. A panic ends the run,
// is logged, and does not stop the next.
package sweeper
