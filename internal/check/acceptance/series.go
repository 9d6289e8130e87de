package acceptance

import (
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Columns are a run over time: one value a second. A value is nil where there
// is none.
type Columns struct {
	// At is seconds since the run began.
	At []float64 `json:"at"`
	// InWindow is the most that any window held which ended in this second, Limit
	// what it may hold; Admitted is how many were let in within the second.
	InWindow []float64 `json:"inWindow"`
	Limit    []float64 `json:"limit"`
	Admitted []float64 `json:"admitted"`
	// InSecond is the most that any 1,000 ms held which ended in this second, SecondLimit
	// what it may be while there is a line, Mean the limit's share of a second.
	InSecond    []float64 `json:"inSecond"`
	SecondLimit []float64 `json:"secondLimit"`
	Mean        []float64 `json:"mean"`
	// Waiting is how many waited at the end of the second, and were there.
	Waiting []float64 `json:"waiting"`
	// P50, P95 and P99 are of the answers that came in this second, in milliseconds.
	P50 []*float64 `json:"p50"`
	P95 []*float64 `json:"p95"`
	P99 []*float64 `json:"p99"`
	// ErrorP50 and ErrorP90 are of the estimates told in this second, in percent.
	ErrorP50 []*float64 `json:"errorP50"`
	ErrorP90 []*float64 `json:"errorP90"`
}

// columnsOf makes the columns of a story.
func columnsOf(s *Story, settings zone.Settings) Columns {
	rates := window.RatesOf(settings)
	n := 0
	for i := range s.Visitors {
		n = max(n, int(s.Visitors[i].last()/1000)+2)
	}
	times := s.admissions()
	always := func(value float64) []float64 { return slices.Repeat([]float64{value}, n) }
	c := Columns{
		At: always(0), Admitted: always(0), Waiting: s.waiting(n),
		InWindow: fullest(times, n, rates.WindowMillis), Limit: always(float64(rates.Limit)),
		InSecond: fullest(times, n, window.SecondMillis), SecondLimit: always(float64(rates.PerSecond)),
		Mean: always(float64(settings.PerMinute) / 60),
	}
	for i := range c.At {
		c.At[i] = float64(i)
	}
	second := func(millis int64) int { return int(max(0, min(millis/1000, int64(n-1)))) }
	for _, t := range times {
		c.Admitted[second(t)]++
	}
	latencies, errs := make([][]float64, n), make([][]float64, n)
	for i := range s.Visitors {
		for _, r := range s.Visitors[i].Asked {
			if r.Status != 0 {
				latencies[second(r.told())] = append(latencies[second(r.told())], float64(r.Took))
			}
		}
	}
	s.estimates(rates.WindowMillis, func(at int64, e float64) {
		errs[second(at)] = append(errs[second(at)], 100*e)
	})
	c.P50, c.P95, c.P99 = shares(latencies, 50), shares(latencies, 95), shares(latencies, 99)
	c.ErrorP50, c.ErrorP90 = shares(errs, 50), shares(errs, 90)
	return c
}

// fullest is, for each second, the most that a closed window held which ended in
// it. times are sorted milliseconds since the beginning.
func fullest(times []int64, n int, span int64) []float64 {
	out := make([]float64, n)
	from, to := 0, 0
	for i := range n {
		begins, ends := int64(i)*1000, int64(i+1)*1000
		hold := func(at int64) {
			for from < to && times[from] < at-span {
				from++
			}
			out[i] = math.Max(out[i], float64(to-from))
		}
		hold(begins)
		for to < len(times) && times[to] < ends {
			to++
			hold(times[to-1])
		}
	}
	return out
}

// waiting is how many waited at the end of each second.
func (s *Story) waiting(n int) []float64 {
	out := make([]float64, n)
	changes := s.changes(0)
	live, next := int64(0), 0
	for i := range n {
		for next < len(changes) && changes[next].AtMillis < int64(i+1)*1000 {
			live += changes[next].By
			next++
		}
		out[i] = float64(live)
	}
	return out
}

// shares are a percentile of each second, nil of nothing.
func shares(seconds [][]float64, p float64) []*float64 {
	out := make([]*float64, len(seconds))
	for i, values := range seconds {
		if len(values) > 0 {
			slices.Sort(values)
			out[i] = new(measure.Percentile(values, p))
		}
	}
	return out
}
