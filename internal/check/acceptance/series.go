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
	// Requests is how many were sent.
	Requests []float64 `json:"requests"`
	// ErrorP50 and ErrorP90 are of the estimates told in this second, in percent.
	ErrorP50 []*float64 `json:"errorP50"`
	ErrorP90 []*float64 `json:"errorP90"`
}

// ColumnsOf makes the columns of a story.
func ColumnsOf(s *Story, settings zone.Settings) Columns {
	rates := window.RatesOf(settings)
	n := 0
	for i := range s.Visitors {
		n = max(n, int(s.Visitors[i].last()/1000)+2)
	}
	c := Columns{At: make([]float64, n)}
	latencies, errs := make([][]float64, n), make([][]float64, n)
	requests, admitted := make([]float64, n), make([]float64, n)
	second := func(millis int64) int { return int(max(0, min(millis/1000, int64(n-1)))) }
	for i := range s.Visitors {
		for _, r := range s.Visitors[i].Asked {
			requests[second(r.Sent)]++
			if r.Status != 0 {
				latencies[second(r.told())] = append(latencies[second(r.told())], float64(r.Took))
			}
		}
	}
	s.estimates(rates.WindowMillis, func(at int64, e float64) {
		errs[second(at)] = append(errs[second(at)], 100*e)
	})
	times := admissions(s)
	for i := range times {
		times[i] -= s.Began
		admitted[second(times[i])]++
	}
	waiting := s.waiting(n)
	held, inSecond := fullest(times, n, rates.WindowMillis), fullest(times, n, window.SecondMillis)
	for i := range n {
		c.At[i] = float64(i)
		c.InWindow = append(c.InWindow, held[i])
		c.Limit = append(c.Limit, float64(rates.Limit))
		c.Admitted = append(c.Admitted, admitted[i])
		c.InSecond = append(c.InSecond, inSecond[i])
		c.SecondLimit = append(c.SecondLimit, float64(rates.PerSecond))
		c.Mean = append(c.Mean, float64(settings.PerMinute)/60)
		c.Waiting = append(c.Waiting, waiting[i])
		c.Requests = append(c.Requests, requests[i])
		c.P50 = append(c.P50, share(latencies[i], 50))
		c.P95 = append(c.P95, share(latencies[i], 95))
		c.P99 = append(c.P99, share(latencies[i], 99))
		c.ErrorP50 = append(c.ErrorP50, share(errs[i], 50))
		c.ErrorP90 = append(c.ErrorP90, share(errs[i], 90))
	}
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

// share is a percentile, nil of nothing.
func share(values []float64, p float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return new(measure.Percentile(values, p))
}
