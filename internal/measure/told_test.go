package measure_test

import (
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/measure"
)

// TestMovedByAnOperator: what was told before a change and after it is no unsteady estimate.
func TestMovedByAnOperator(t *testing.T) {
	t.Parallel()
	v := measure.Entered{EnteredMicros: 100e6, Told: []estimate.Told{
		{AtMicros: 0, Millis: 50_000}, {AtMicros: 10e6, Millis: 90_000}, {AtMicros: 20e6, Millis: 80_000},
	}}
	for changedAt, want := range map[int64]float64{0: 0.5, 5e6: 0} {
		changed := func(from, to int64) bool { return from < changedAt && changedAt <= to }
		if got := measure.EstimatesOf(slices.Values([]measure.Entered{v}), 6_000, changed).Moved; got != want {
			t.Errorf("changed at %d: moved %g, want %g", changedAt, got, want)
		}
	}
}
