package measure_test

import (
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestJudge: two a window may enter, and each of a small crowd has seen something else.
func TestJudge(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.PerMinute = 20
	got := measure.Judge([]measure.Visitor{
		{Place: 1, AdmittedMillis: 9_000, Late: true}, // passed by three
		{Place: 2, AdmittedMillis: 1_000, Straight: true},
		{Place: 3, AdmittedMillis: 6_500, Rose: 1}, // passed by one
		{Place: 4, AdmittedMillis: 1_000},
		{Place: 5, SeenMillis: 7_000},
		{Place: 6, Lost: true, Rose: 2}, // counts for no order
		{Place: 7},                      // waits still
	}, window.RatesOf(z))
	if got.Admitted != 4 || got.Waiting != 2 || got.Lost != 1 || got.Rose != 3 {
		t.Errorf("%d let in, %d wait, %d lost, %d rose", got.Admitted, got.Waiting, got.Lost, got.Rose)
	}
	// [500, 6500] holds three, [3000, 9000] two.
	if got.MostWindow != 3 || got.Over != 1 || got.MostMinute != 4 || got.MostSecond != 1 {
		t.Errorf("%d in a window, %d over, %d in a minute, %d in a second", got.MostWindow, got.Over, got.MostMinute, got.MostSecond)
	}
	if want := []float64{0, 0, 0, 0, 0.5}; !slices.Equal(got.Overtaken, want) {
		t.Errorf("overtaken by %v windows' worth, want %v", got.Overtaken, want)
	}
	if want := []float64{0, 0, 0, 0, 0.5, 1.5}; !slices.Equal(got.Everybody, want) {
		t.Errorf("with the late: %v, want %v", got.Everybody, want)
	}
}
