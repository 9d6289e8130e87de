package line_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestRenewKeepsTheNumber: nobody is told a higher position than before. Until a minute and a half after a loss positions are too low,
// so the position from before the loss stays the highest that may be told.
func TestRenewKeepsTheNumber(t *testing.T) {
	t.Parallel()
	const now = 1_800_000_000_000
	for name, test := range map[string]struct {
		told, is, lostAgo, want, then int64
	}{
		"falls":           {40, 30, 1_000_000, 30, 30},
		"rises":           {40, 41, 1_000_000, 40, 40},
		"first":           {0, 41, 1_000_000, 41, 41},
		"after a loss":    {40, 3, 89_999, 3, 40},
		"rises then":      {40, 41, 89_999, 40, 40},
		"joined then":     {0, 3, 89_999, 3, 0},
		"when it is over": {40, 30, 90_000, 30, 30},
		"of a young zone": {40, 30, 4_000_000, 30, 30},
	} {
		a := line.Answer{Position: test.is, Place: line.Place{Told: test.told}, State: line.State{
			NowMillis: now, LostAtMillis: now - test.lostAgo, Epoch: (now - 3_600_000) / 1000,
		}}
		if a.Renew(); a.Position != test.want || a.Place.Told != test.then {
			t.Errorf("%s: %d, and the token says %d", name, a.Position, a.Place.Told)
		}
	}
}
