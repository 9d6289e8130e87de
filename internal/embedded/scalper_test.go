package embedded

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestScalperAside: a scalper has 10,000 places that were set aside, and comes back to all of them at once when their turn is over. 1,000
// visitors who wait then are in within twice the time and a window, and the scalper gets half of the slots.
func TestScalperAside(t *testing.T) {
	t.Parallel()
	alone, _ := scalped(t, 0)
	beside, scalper := scalped(t, 10_000)
	t.Logf("1,000 visitors are in after %v alone, and after %v beside a scalper, who gets %d", alone, beside, scalper)
	if beside > 2*alone+6*time.Second || scalper > 1_100 {
		t.Errorf("1,000 visitors are in after %v alone, and after %v beside a scalper, who gets %d", alone, beside, scalper)
	}
}

// scalped returns how long it takes until 1,000 visitors are in, from when the scalper comes back to so many places, and how many
// the scalper has got by then. The visitors join when the places of the scalper have been set aside.
func scalped(t *testing.T, places int) (took time.Duration, scalper int) {
	t.Helper()
	const honest, tick, early = 1_000, 250 * time.Millisecond, 20 * time.Second
	clock := conformance.NewClock()
	s := reopen(t, t.TempDir(), clock.Now)
	z := zone.Defaults("z")
	z.IdleTimeoutSeconds = 20
	put(t, s, z)
	others := 1_000_000
	fill := func() { // the window, so that whoever comes next waits
		for range 60 {
			others++
			join(t, s, others)
		}
	}
	fill()
	var held []line.Place
	due := map[int64][]int{} // visitors by the number of the tick
	comes := func(n int) {
		for range n {
			held = append(held, join(t, s, len(held)).Place)
		}
	}
	comes(places)
	clock.Add(2 * time.Minute)
	for next := uint64(1); next > 0; {
		swept, err := s.Sweep(t.Context(), "z", "", next-1)
		must(t, err)
		next = swept.Next
	}
	fill()
	comes(honest)
	for i := range honest {
		due[0] = append(due[0], places+i)
	}
	for i := range places {
		due[int64(early/tick)] = append(due[int64(early/tick)], i)
	}
	in := 0
	for now := int64(0); in < honest; now++ {
		for _, i := range due[now] {
			a := poll(t, s, held[i])
			switch held[i] = a.Place; {
			case a.Status == line.Waiting:
				at := now + max(1, a.PeriodMillis/tick.Milliseconds())
				due[at] = append(due[at], i)
			case a.Status != line.Admitted:
				t.Fatalf("visitor %d: %+v", i, a)
			case i < places:
				scalper++
			default:
				in++
			}
		}
		delete(due, now)
		clock.Add(tick)
		took = time.Duration(now)*tick - early
	}
	return took, scalper
}
