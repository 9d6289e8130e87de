// Package measure works out, of what a crowd saw, the figures that the promises are held
// to: how full any window was (G1, never over), how much of the capacity was used (G2), and
// who overtook whom (G3, first come, first served). It is for whatever plays or watches a crowd: the operators' dry run, load
// tests, fault tests, and the stores' tests.
//
// Times are in one unit of the caller's choice where no other is said.
package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/window"
)

// Most returns the most of the sorted times that lie in any closed interval
// [t, t+span].
func Most(times []int64, span int64) int {
	_, most := Over(times, span, math.MaxInt64)
	return most
}

// Over returns how many of the sorted times end a closed interval [t-span, t] that holds
// more than the limit, and the most that any held.
func Over(times []int64, span, limit int64) (over, most int) {
	from := 0
	for i, t := range times {
		for times[from] < t-span {
			from++
		}
		most = max(most, i-from+1)
		if int64(i-from+1) > limit {
			over++
		}
	}
	return over, most
}

// MostFromLine returns the most that entered in any closed interval [t-span, t] at the end of which, t, a visitor entered
// who had waited. line has the times of those who had waited, straight the times of those who went straight in, both
// sorted. Visitors who went straight in at t itself are not counted: they came when nobody waited any more.
func MostFromLine(line, straight []int64, span int64) (most int) {
	oldest, from, to := 0, 0, 0
	for i, t := range line {
		for line[oldest] < t-span {
			oldest++
		}
		for to < len(straight) && straight[to] < t {
			to++
		}
		for from < to && straight[from] < t-span {
			from++
		}
		most = max(most, i-oldest+1+to-from)
	}
	return most
}

// Stay is a visitor's time in the line.
type Stay struct {
	// Arrived is the place.
	Arrived int64
	// Ended is when the visitor was admitted or, if not In, was last known to wait.
	Ended int64
	In    bool
}

// Overtaken returns, for each stay, how many visitors who arrived later were admitted before it ended. A visitor who was
// let in at the same time did not overtake.
func Overtaken(stays []Stay) []int {
	n := len(stays)
	order := func(compare func(a, b Stay) int) []int {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		slices.SortFunc(all, func(a, b int) int { return compare(stays[a], stays[b]) })
		return all
	}
	rank := make([]int, n)
	for r, i := range order(func(a, b Stay) int { return cmp.Compare(a.Arrived, b.Arrived) }) {
		rank[i] = r + 1
	}
	overtaken := make([]int, n)
	// A Fenwick tree counts those who are in, by rank.
	in, tree := 0, make([]int, n+1)
	for _, i := range order(func(a, b Stay) int {
		return cmp.Or(cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.Arrived, b.Arrived))
	}) {
		overtaken[i] = in
		for k := rank[i]; k > 0; k &= k - 1 {
			overtaken[i] -= tree[k]
		}
		if !stays[i].In {
			continue
		}
		in++
		for k := rank[i]; k <= n; k += k & -k {
			tree[k]++
		}
	}
	return overtaken
}

// Change says that from AtMillis on By more visitors wait; fewer if By is negative.
type Change struct{ AtMillis, By int64 }

// Capacity returns the mean share of the window's slots that were taken, from when two
// windows' worth of visitors first waited until they last did: the admissions in the
// window that ends at each moment, over what the limit allows in one. It is -1 if that
// time was shorter than a window. Changes and admissions are in order of time.
func Capacity(changes []Change, admittedMillis []int64, rates window.Rates) float64 {
	var live, from, to int64
	began := false
	for _, c := range changes {
		live += c.By
		if live < 2*rates.Limit {
			continue
		}
		if !began {
			from, began = c.AtMillis, true
		}
		to = c.AtMillis
	}
	if !began || to-from < rates.WindowMillis {
		return -1
	}
	taken := int64(0)
	for _, t := range admittedMillis {
		taken += max(0, min(to, t+rates.WindowMillis)-max(from, t))
	}
	perWindow := float64(rates.PerMinute) * float64(rates.WindowMillis) / window.MinuteMillis
	return float64(taken) / (perWindow * float64(to-from))
}

// Percentile returns that of sorted values, by the nearest rank; 0 of none.
func Percentile[T ~int | ~int64 | ~float64](sorted []T, p float64) T {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(p/100*float64(len(sorted)))) - 1
	return sorted[max(0, min(i, len(sorted)-1))]
}
