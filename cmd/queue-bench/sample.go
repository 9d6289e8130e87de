package main

import (
	"slices"
	"time"
)

// sample is what one contender showed in one slice.
type sample struct {
	perSecond float64
	// serverMicros, redisMicros and selfMicros are processor time a request,
	// of the server's process, of Redis, and of this one. 0: none, or not known.
	serverMicros, redisMicros, selfMicros float64
	// together is how many visitors travelled in one script call.
	together float64
	// p50 and p99 are latencies, of a paced slice only.
	p50, p99 time.Duration
	// refused is the share of answers that were not 200.
	refused float64
}

// series are the samples of each contender, one a round. In a round all take
// their turn within a few seconds, so that a round's ratio holds even where
// the machine is slower in the next.
type series map[string][]sample

// median is that of one figure over the rounds.
func (s series) median(name string, of func(sample) float64) float64 {
	values := make([]float64, 0, len(s[name]))
	for _, one := range s[name] {
		values = append(values, of(one))
	}
	return median(values)
}

// ratio is the median over the rounds of one's figure by the other's.
func (s series) ratio(name, to string, of func(sample) float64) float64 {
	values := make([]float64, 0, len(s[name]))
	for round := range min(len(s[name]), len(s[to])) {
		if by := of(s[to][round]); by > 0 {
			values = append(values, of(s[name][round])/by)
		}
	}
	return median(values)
}

// The figures of a sample.
func perSecond(s sample) float64    { return s.perSecond }
func serverMicros(s sample) float64 { return s.serverMicros }
func redisMicros(s sample) float64  { return s.redisMicros }
func allMicros(s sample) float64    { return s.serverMicros + s.redisMicros + s.selfMicros }
func together(s sample) float64     { return s.together }
func refused(s sample) float64      { return s.refused }
func p50Millis(s sample) float64    { return millis(s.p50) }
func p99Millis(s sample) float64    { return millis(s.p99) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// median of the values, 0 if there are none. The values are sorted.
func median(values []float64) float64 {
	slices.Sort(values)
	switch n := len(values); {
	case n == 0:
		return 0
	case n%2 == 1:
		return values[n/2]
	default:
		return (values[n/2-1] + values[n/2]) / 2
	}
}

// percentile of sorted times, by the nearest rank; 0 if there are none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}
