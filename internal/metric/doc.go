// Package metric counts what the server does, for Prometheus.
//
//	rooms ── Join, Poll, Refuse, Admit ──> counters of a zone (zone.go)
//	zones ── Know, Forget ──> which zones have series (zone.go)
//	zones ── Called, Count ──> time per call to the store, places put back, departures forgotten, visitors let in without it (call.go)
//	guard ── JoinUnlimited, ForwardedRefused ──> joins that no address was counted for (call.go)
//	zones ── Judged ──> how good the estimates were (estimate.go)
//	zones ── StoreFailing ──> whether a zone's store is away (zone.go)
//	limiter ── Took, Failing ──> how long decisions took, how often the store failed (limit.go)
//	a scrape ── gauges ──> every zone, as watch last saw it (gauge.go)
//
// Labels are bounded: a zone that the server knows, or "" for all others; an
// outcome or code from a fixed list. Every combination is there, at 0, from the
// moment the zone is known until it is forgotten.
//
// Counting a poll takes two look-ups in maps and one atomic addition: each
// zone's counters are looked up when it becomes known, and the map of zones is
// replaced rather than changed, so that reading it needs no lock.
package metric
