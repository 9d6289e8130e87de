// Package watch observes every zone once a second, or every five while nobody asks about it, and keeps the last hour: what
// an operator sees in the console, in /admin/zones/{zoneId}/stats and history,
// and in the gauges of /metrics, is read once, here.
//
//	zones ── Zones, Observe ──> a round: 16 zones at a time, within 900 ms
//	                                |
//	                meter: totals of the last 60 s ──> rates a minute
//	                                |
//	                history: 3,600 samples
//	                                |
//	     Latest, History ──> operator, console, metric;  Wait: a round is done
//
// # What a sample says
//
// The line as the store had it at that second; and what happened in the 60 s
// before, as differences of the store's totals, so that it counts what all
// servers did. Where the totals are lower than a second ago, the store has begun
// anew, and what it counts is added from there: no rate is ever negative.
//
// A zone whose store does not answer has a sample that says so and since when, but
// has no figures: an old figure would be wrong. After a gap of more than a minute the
// rates begin anew.
//
// # What it costs
//
// A zone's hour is 1.2 MB, allocated as it fills, and its last minute
// up to 90 KB. MaxZones bounds how many zones have samples: 500 take 600 MB. A reader costs
// no memory that stays: a console that is left open for an hour holds one channel.
//
// A round is one Observe for each zone. By the same call package zones makes its estimates. What a call costs does not depend on the
// length of the line. BenchmarkRound measures a round on the embedded store, BenchmarkObserve of package lua a call on Redis.
//
// Zones that failed in the round before are asked last, so that the zones of a dead node
// do not keep the others waiting.
package watch
