package main

import (
	"slices"
	"time"
)

// sample is what one contender showed in one slice, or the medians of its slices.
type sample struct {
	PerSecond float64 `json:"perSecond,omitzero"`
	// ServerMicros, RedisMicros and ownMicros are processor time a request,
	// of the server's process, of Redis, and of this one. 0: none, or not known.
	ServerMicros float64 `json:"serverMicros,omitzero"`
	RedisMicros  float64 `json:"redisMicros,omitzero"`
	ownMicros    float64
	// Together is how many visitors travelled in one script call.
	Together float64 `json:"together,omitzero"`
	// P50 and P99 are latencies, of a paced slice only.
	P50 time.Duration `json:"p50Nanos,omitzero"`
	P99 time.Duration `json:"p99Nanos,omitzero"`
	// peak is what the rate is compared with under overload.
	peak float64
	// Refused is the share of answers that were not 200; unanswered that of no answer at all, under overload.
	Refused    float64 `json:"refused,omitzero"`
	unanswered float64
}

// The figures of a sample by which contenders are compared.
func perSecond(s sample) float64   { return s.PerSecond }
func redisMicros(s sample) float64 { return s.RedisMicros }
func allMicros(s sample) float64   { return s.ServerMicros + s.RedisMicros + s.ownMicros }

// series are the samples of each contender, one a round. In a round all take
// their turn within a few seconds, so that a round's ratio holds even where
// the machine is slower in the next.
type series map[string][]sample

// median is that of one figure over the rounds.
func (s series) median(name string, of func(sample) float64) float64 {
	var values []float64
	for _, one := range s[name] {
		values = append(values, of(one))
	}
	return median(values)
}

// ratio is the median over the rounds of one's figure by the other's.
func (s series) ratio(name, to string, of func(sample) float64) float64 {
	var values []float64
	for round := range min(len(s[name]), len(s[to])) {
		if by := of(s[to][round]); by > 0 {
			values = append(values, of(s[name][round])/by)
		}
	}
	return median(values)
}

// result is what one contender has shown in all rounds.
type result struct {
	Name string `json:"name"`
	sample
	// Ratio is its rate by the baseline's, ByCPU the baseline's processor time by
	// its own, of all that took part.
	Ratio float64 `json:"ratio,omitzero"`
	ByCPU float64 `json:"byCPU,omitzero"`
}

// results are those of a contest, in the order of the tables.
type results []result

// results of the named, beside a baseline. Who took no part is not in it.
func (s series) results(baseline string, names ...string) (out results) {
	for _, name := range names {
		if len(s[name]) == 0 {
			continue
		}
		median := func(of func(sample) float64) float64 { return s.median(name, of) }
		out = append(out, result{
			Name: name, Ratio: s.ratio(name, baseline, perSecond), ByCPU: s.ratio(baseline, name, allMicros),
			sample: sample{
				PerSecond: median(perSecond), RedisMicros: median(redisMicros),
				ServerMicros: median(func(s sample) float64 { return s.ServerMicros }),
				Together:     median(func(s sample) float64 { return s.Together }),
				Refused:      median(func(s sample) float64 { return s.Refused }),
				P50:          time.Duration(median(func(s sample) float64 { return float64(s.P50) })),
				P99:          time.Duration(median(func(s sample) float64 { return float64(s.P99) })),
			},
		})
	}
	return out
}

// Of returns the result of that name; zeros if it took no part.
func (r results) Of(name string) result {
	for _, one := range r {
		if one.Name == name {
			return one
		}
	}
	return result{}
}

// of is one's rate by another's, each by the baseline's in the same rounds.
func (r results) of(name, by string) float64 {
	if r.Of(by).Ratio == 0 {
		return 0
	}
	return r.Of(name).Ratio / r.Of(by).Ratio
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// median of the values, 0 if there are none. The values are sorted.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
