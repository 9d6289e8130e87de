package zones

import (
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// backIn is in how many seconds one is to come back who was refused.
func backIn(t *testing.T, err error) int {
	t.Helper()
	var later *LaterError
	if !errors.As(err, &later) || !errors.Is(err, line.ErrStoreUnavailable) {
		t.Fatalf("not told when to come back: %v", err)
	}
	return later.RetryAfterSeconds()
}

// TestTheNearComeBackSoonerThanTheFar: with the store away, a line of 10,000 asks hardly more often than it
// does at other times, those in front within 4 s, and nobody less than twice in the idle timeout.
func TestTheNearComeBackSoonerThanTheFar(t *testing.T) {
	t.Parallel()
	for _, idle := range []int64{60, 15} {
		s := zone.Defaults(testZone)
		s.PerMinute, s.IdleTimeoutSeconds = 1_200, idle
		r := newRoom(t, 1, s)
		server := r.servers[0]
		var places []line.Place
		for range 10_000 {
			places = append(places, r.join(server, 1)...)
			r.clock.Forward(100 * time.Microsecond)
		}
		r.cut(true)
		longest := int(min(20, idle/3))
		for _, away := range []time.Duration{0, 30 * time.Second} {
			r.pass(away)
			perSecond, seen := 0.0, make(map[int]int)
			for i, p := range places {
				r.clock.Forward(17 * time.Microsecond)
				_, err := server.Poll(t.Context(), testZone, p)
				after := backIn(t, err)
				near, far := i < 100, i > 2_500
				if after < 1 || after > longest || near && after > 4 || far && after < longest/2 {
					t.Errorf("idle timeout %d s, away for %v: number %d is told to come back in %d s", idle, away, i, after)
				}
				perSecond += 1 / float64(after)
				if far {
					seen[after]++
				}
			}
			if most := 2 * float64(len(places)) / float64(longest); perSecond > most {
				t.Errorf("idle timeout %d s, away for %v: %.0f a second come back, want %.0f at most", idle, away, perSecond, most)
			}
			if longest == 20 {
				for after := 14; after <= 20; after++ { // evenly: those far away are told 13 to 20 s
					if share := float64(seen[after]) / float64(len(places)-2_501); share < 0.1 || share > 0.18 {
						t.Errorf("away for %v: %.2f of those far away come back in %d s", away, share, after)
					}
				}
			}
		}
	}
}

// TestNewcomersComeBackTheLaterTheMoreThereAre: of newcomers nothing is known but how many are turned
// away; nor of anybody, where this server never heard of the line. A few come back at once.
func TestNewcomersComeBackTheLaterTheMoreThereAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		heard   bool
		ask     func(r *room) error
		longest int
	}{
		{"newcomers", true, func(r *room) error {
			_, err := r.servers[0].Join(r.t.Context(), testZone, r.newID())
			return err
		}, 20},
		{"a line that was never heard of", false, func(r *room) error {
			_, err := r.servers[0].Poll(r.t.Context(), testZone, line.Place{ID: r.newID(), ArrivedAtMicros: 1})
			return err
		}, 20},
		{"a zone that was never heard of", true, func(r *room) error {
			_, err := r.servers[0].Join(r.t.Context(), "OTHER", r.newID())
			return err
		}, 10},
		{"who leaves", false, func(r *room) error {
			return r.servers[0].Leave(r.t.Context(), testZone, line.Place{ID: r.newID(), ArrivedAtMicros: 1})
		}, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, 1, zone.Defaults(testZone))
			if tt.heard {
				r.join(r.servers[0], 20)
				r.cut(true)
			}
			r.servers[0].wire.down.Store(true)
			r.pass(2 * freshFor)
			most := 0
			for i := range 20_000 {
				after := backIn(t, tt.ask(r))
				if i < 100 && after > 3 || after < 1 {
					t.Fatalf("the %d-th is told to come back in %d s", i, after)
				}
				most = max(most, after)
				r.clock.Forward(300 * time.Microsecond)
			}
			if most != tt.longest {
				t.Errorf("of 20,000 in six seconds, the last are told %d s at most, want %d", most, tt.longest)
			}
			r.pass(time.Minute)
			if after := backIn(t, tt.ask(r)); after > 3 {
				t.Errorf("when they have gone, one is told to come back in %d s", after)
			}
		})
	}
}
