package window

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPeak against a plain list.
func TestPeak(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p Peak
		var times, ends []int64 // each with how many were in its second
		now := rapid.Int64Range(0, 1_000_000).Draw(t, "start")
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 400, 1_001, 30_000, 90_000}).Draw(t, "pause")
			if rapid.Bool().Draw(t, "somebody enters") {
				times = append(times, now)
				n := int64(len(times) - slices.IndexFunc(times, func(at int64) bool { return at >= now-SecondMillis }))
				ends = append(ends, n)
				p = p.See(now, n)
			}
			want := int64(0)
			for i, at := range times {
				if at/MinuteMillis >= now/MinuteMillis-1 {
					want = max(want, ends[i])
				}
			}
			if got := p.Latest(now); got != want {
				t.Fatalf("at %d: %d, want %d of %v", now, got, want, times)
			}
		}
	})
}
