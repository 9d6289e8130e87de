package simulate

import (
	"math"
	"testing"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The report is evidence only if it measures what it says: here it is held
// against cases that can be worked out by hand, and against slow, plain counts.

const (
	second = 1_000_000 // in microseconds
)

func testCrowd(visitors ...visitor) *crowd {
	z := zone.Defaults("SIMULATED")
	z.PerMinute = 600
	c := newCrowd(1, z, 0)
	c.visitors = visitors
	return c
}

// in is a visitor who came and was admitted at these seconds.
func in(came, admitted float64) visitor {
	return visitor{
		place:  line.Place{ArrivedAtMicros: int64(came * second)},
		joined: int64(came * second), admitted: int64(admitted * second), state: inside,
	}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	good, bad, soon := in(0, 100), in(0, 200), in(0, 3)
	good.polls, bad.polls, soon.polls = 10, 30, 2
	// 0 % off, and held; 20 % off, a tenth of the wait later; 30 % off, a seventh earlier.
	good.estimates = []estimate.Prediction{
		{Millis: 100_000, LowMillis: 90_000, HighMillis: 110_000},
		{AtMicros: 50 * second, Millis: 60_000, LowMillis: 55_000, HighMillis: 70_000},
		{AtMicros: 60 * second, Millis: 36_000, LowMillis: 30_000, HighMillis: 50_000},
	}
	bad.estimates = []estimate.Prediction{{Millis: 500_000}}                                  // 150 % off
	soon.estimates = []estimate.Prediction{{Millis: 1_000_000}}                               // too near to tell
	gone := visitor{state: left, polls: 1_000, estimates: []estimate.Prediction{{Millis: 1}}} // never in
	c := testCrowd(good, bad, soon, gone)
	out := c.report(window.RatesOf(c.zone), 0)
	if out.PollsMean != 14 || out.PollsP99 != 30 || out.PollsMax != 30 || out.MedianMs != 100_000 {
		t.Errorf("polls mean %g, p99 %g, max %d, median wait %d ms", out.PollsMean, out.PollsP99, out.PollsMax, out.MedianMs)
	}
	if math.Abs(out.EstimateErrorP50-0.1) > 1e-9 || math.Abs(out.EstimateErrorP90-1.5) > 1e-9 || out.EstimateCovered != 0.5 {
		t.Errorf("estimate's error p50 %g, p90 %g, want 0.1 and 1.5", out.EstimateErrorP50, out.EstimateErrorP90)
	}
}

func TestPollsPerSecond(t *testing.T) {
	t.Parallel()
	var c crowd
	for _, c.now = range []int64{1, second - 1, second, second + 1, 2*second - 1, 7 * second} {
		c.poll()
	}
	if c.mostPolls != 3 {
		t.Errorf("%d polls in the busiest second, want 3", c.mostPolls)
	}
}
