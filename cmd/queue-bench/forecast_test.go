package main

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

// The forecast is held against a crowd on a real store, in virtual time.
func TestForecast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		visitors  int
		perMinute int64
		arrive    time.Duration
	}{{8_000, 1000, 5 * time.Second}, {8_000, 2000, time.Minute}, {15_000, 30_000, 10 * time.Second}} {
		z := zoneFor(benchZone)
		z.PerMinute = tt.perMinute
		got := foresee(tt.visitors, tt.perMinute, tt.arrive.Milliseconds())
		real, err := simulate.Run(t.Context(), simulate.Config{Visitors: tt.visitors, Arrive: tt.arrive, Zone: z, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d at %d a minute: peak %.0f and %d, each %.1f and %.1f",
			tt.visitors, tt.perMinute, got.peak, real.PollsPerSecondMax, got.each, real.PollsMean)
		if ratio := got.peak / float64(real.PollsPerSecondMax); ratio < .8 || ratio > 1.2 {
			t.Errorf("%d at %d a minute: a peak of %.0f polls a second, simulated %d",
				tt.visitors, tt.perMinute, got.peak, real.PollsPerSecondMax)
		}
		if ratio := got.each / real.PollsMean; ratio < .8 || ratio > 1.2 {
			t.Errorf("%d at %d a minute: %.1f polls each, simulated %.1f", tt.visitors, tt.perMinute, got.each, real.PollsMean)
		}
	}
}

func TestForecastOfALongLine(t *testing.T) {
	t.Parallel()
	// The formula of scaling.md, for the 850,000 who still wait on average.
	got := foresee(1_000_000, 60_000, 60_000).settled
	if want := 850_000/settledPeriod + 60_000/15; got < .95*want || got > 1.05*want {
		t.Errorf("%.0f polls a second, by the formula %.0f", got, want)
	}
}
