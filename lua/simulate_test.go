package lua

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestSimulatedCrowd sends the crowd of queue-server simulate, at a smaller
// size, through both stores: every figure of the report is the same.
func TestSimulatedCrowd(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("SIMULATED")
	z.PerMinute, z.IdleTimeoutSeconds = 300, 15 // so short that some of the dark are swept
	cfg := simulate.Config{Visitors: 800, Arrive: 5 * time.Second, Zone: z, Leave: 0.35, Dark: 0.2, Seed: 1}
	want, err := simulate.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Open = func(now func() time.Time) (simulate.Store, error) { return kept{openStore(t, now)}, nil }
	got, err := simulate.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the Redis store's report differs from the embedded store's:\n%+v\n%+v", got, want)
	}
	if want.Swept == 0 || want.Left == 0 || want.MaxInWindow != int(want.WindowLimit) {
		t.Errorf("not much of a crowd: %+v", want)
	}
}

// kept is a store that the test closes, not the run.
type kept struct{ *Store }

func (kept) Close() error { return nil }
