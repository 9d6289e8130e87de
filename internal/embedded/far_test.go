package embedded

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestLongestPeriod: a visitor who was told the longest period does not count as live before the edge
// reaches it, and is not expected earlier. When the visitors in front leave, the zone goes on.
func TestLongestPeriod(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s, err := Open(Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	z := zone.Defaults("z")
	z.PerMinute, z.IdleTimeoutSeconds = 0, zone.MaxIdleTimeoutSeconds
	put(t, s, z)
	held := make([]line.Place, window.FarAway+1_000)
	for i := range held {
		a, err := s.Join(t.Context(), z.ZoneID, testID(i))
		if err != nil {
			t.Fatal(err)
		}
		held[i] = a.Place
	}
	last := held[len(held)-1]
	poll := func() line.Answer {
		t.Helper()
		a, err := s.Poll(t.Context(), z.ZoneID, last)
		if err != nil {
			t.Fatal(err)
		}
		last = a.Place
		return a
	}
	for _, after := range []time.Duration{3 * time.Minute, time.Minute} {
		clock.Add(after)
		if a := poll(); a.PeriodMillis <= 1<<15 {
			t.Fatalf("told to come back after %d ms: the test wants a longer period", a.PeriodMillis)
		}
	}
	for _, p := range held[:len(held)-1] {
		if err := s.Leave(t.Context(), z.ZoneID, p); err != nil {
			t.Fatal(err)
		}
	}
	// The only one left is next, and is there in time.
	clock.Add(10 * time.Second)
	if st := poll().State; st.Released != 1 || st.Live != 1 || st.EdgeLive != 1 {
		t.Errorf("%d released, %d live, %d of those whom the edge reached: want one each", st.Released, st.Live, st.EdgeLive)
	}
	if err := s.Leave(t.Context(), z.ZoneID, last); err != nil {
		t.Fatal(err)
	}
	clock.Add(time.Minute)
	if _, err := s.Stats(t.Context(), z.ZoneID); err != nil {
		t.Fatal(err)
	}
}
