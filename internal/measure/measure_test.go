package measure_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The figures are evidence only if they measure what they say: here they are held
// against cases that can be worked out by hand, and against slow, plain counts.

func TestOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times             []int64
		span, limit       int64
		wantOver, wantMax int
	}{
		{nil, 10, 0, 0, 0},
		{[]int64{5}, 10, 1, 0, 1},
		{[]int64{0, 10}, 10, 1, 1, 2}, // a closed interval has both its ends
		{[]int64{0, 11}, 10, 1, 0, 1},
		{[]int64{0, 1, 2, 20, 21, 22, 23}, 10, 3, 1, 4},
		{[]int64{0, 1, 2, 20, 21, 22, 23}, 10, 2, 3, 4},
	} {
		over, most := measure.Over(tt.times, tt.span, tt.limit)
		if over != tt.wantOver || most != tt.wantMax || measure.Most(tt.times, tt.span) != most {
			t.Errorf("%v within %d: %d over %d, at most %d", tt.times, tt.span, over, tt.limit, most)
		}
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	stays := []measure.Stay{
		{Arrived: 3, Ended: 20, In: true}, // overtakes the second
		{Arrived: 2, Ended: 30, In: true},
		{Arrived: 4, Ended: 30, In: true}, // not: at the same time
		{Arrived: 1, Ended: 25},           // was never let in, and seen until 25
		{Arrived: 0, Ended: 99, In: true}, // overtaken by all who are in
	}
	if got, want := measure.Overtaken(stays), []int{0, 1, 0, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("overtaken by %v, want %v", got, want)
	}
}

// The tree counts what two loops count.
func TestOvertakenIsAPlainCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stays := make([]measure.Stay, rapid.IntRange(0, 12).Draw(t, "visitors"))
		arrived := rapid.Permutation([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).Draw(t, "arrived")
		for i := range stays {
			stays[i] = measure.Stay{
				Arrived: arrived[i], Ended: rapid.Int64Range(0, 9).Draw(t, "ended"), In: rapid.Bool().Draw(t, "in"),
			}
		}
		want := make([]int, len(stays))
		for i, v := range stays {
			for _, o := range stays {
				if o.In && o.Arrived > v.Arrived && o.Ended < v.Ended {
					want[i]++
				}
			}
		}
		if got := measure.Overtaken(stays); !slices.Equal(got, want) {
			t.Fatalf("overtaken by %v, want %v", got, want)
		}
	})
}

// A crowd comes at 0 and, every 6 s, takes so many of the window's 60 slots at once.
func TestCapacity(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.PerMinute = 600
	rates := window.RatesOf(z)
	for _, tt := range []struct {
		people, each int64
		want         float64
	}{
		{1000, 60, 1},
		{1000, 45, 0.75},
		{1000, 30, 0.5},
		{1000, 3, 0.05},
		// Idle slots are no fault when there is hardly anybody to take them.
		{2*rates.Limit - 1, 1, -1},
	} {
		changes := []measure.Change{{By: tt.people}}
		var admitted []int64
		for at, live := int64(0), tt.people; live >= tt.each; at += 6_000 {
			for range tt.each {
				admitted = append(admitted, at)
				changes = append(changes, measure.Change{AtMillis: at, By: -1})
			}
			live -= tt.each
		}
		if got := measure.Capacity(changes, admitted, rates); got < tt.want-0.001 || got > tt.want+0.001 {
			t.Errorf("%d of 60 slots taken by %d: capacity used %g, want %g", tt.each, tt.people, got, tt.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	ten := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		of   []int
		p    float64
		want int
	}{{nil, 50, 0}, {ten, 0, 1}, {ten, 50, 5}, {ten, 51, 6}, {ten, 99, 10}, {ten, 100, 10}, {ten[:1], 50, 1}} {
		if got := measure.Percentile(tt.of, tt.p); got != tt.want {
			t.Errorf("percentile %g of %v is %d, want %d", tt.p, tt.of, got, tt.want)
		}
	}
}

// TestMostFromLine against its definition.
func TestMostFromLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := func(name string) []int64 {
			all := rapid.SliceOf(rapid.Int64Range(0, 300)).Draw(t, name)
			slices.Sort(all)
			return all
		}
		line, straight, span := times("line"), times("straight"), rapid.Int64Range(0, 100).Draw(t, "span")
		want := 0
		for _, end := range line {
			n := 0
			for _, at := range line {
				if at >= end-span && at <= end {
					n++
				}
			}
			for _, at := range straight {
				if at >= end-span && at < end {
					n++
				}
			}
			want = max(want, n)
		}
		if got := measure.MostFromLine(line, straight, span); got != want {
			t.Errorf("%v and %v: %d, want %d", line, straight, got, want)
		}
	})
}
