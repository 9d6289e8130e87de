//go:build !race

// One goroutine in virtual time: see the promises in internal/operate/simulate.

package zones_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// behind is a store behind a server that answers polls before their time.
type behind struct {
	*embedded.Store
	zones *zones.Zones
}

func (b *behind) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	a, err := b.zones.Join(ctx, zoneID, id)
	return a.Answer, err
}

func (b *behind) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	a, err := b.zones.Poll(ctx, zoneID, p)
	a.WaitMillis = a.EstimateMillis
	return a.Answer, err
}

// counted counts what gets through.
type counted struct {
	*embedded.Store
	polls *int
}

func (c counted) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	*c.polls++
	return c.Store.Poll(ctx, zoneID, p)
}

// crowd is a quarter of the crowd of the promises: 5,000 visitors in 5 s, 500 a minute, 5 % of
// them silent once for 5 to 50 s.
func crowd(leave float64, every time.Duration) simulate.Config {
	z := zone.Defaults("SIMULATED")
	z.PerMinute = 500
	return simulate.Config{
		Visitors: 5_000, Arrive: 5 * time.Second, Zone: z, Leave: leave, Dark: 0.05, Seed: 1, PollEvery: every,
	}
}

// through runs a crowd through a server that answers polls before their time, and returns how many polls reached the store.
func through(t *testing.T, cfg simulate.Config) (r simulate.Report, polls int) {
	t.Helper()
	cfg.Through = func(s *embedded.Store, now func() time.Time) store.Store {
		return &behind{s, zones.New(zones.Options{Store: counted{s, &polls}, AnswerEarly: true, Guard: unlimited, Now: now})}
	}
	r, err := simulate.Run(t.Context(), cfg)
	parts.Must(t, err)
	return r, polls
}

// TestWhoPollsAsToldNoticesNoCache: the same crowd, in all that is measured.
func TestWhoPollsAsToldNoticesNoCache(t *testing.T) {
	t.Parallel()
	cfg := crowd(0.35, 0)
	without, err := simulate.Run(t.Context(), cfg)
	parts.Must(t, err)
	if with, _ := through(t, cfg); !reflect.DeepEqual(with, without) {
		t.Errorf("with the cache\n%+v\nwithout\n%+v", with, without)
	}
}

// TestTheImpatientCostLittleAndNobodyCapacity: clients that poll in a rhythm of their
// own, whatever they are told, reach the store about as often as they should have; and
// still the promises hold (G1, G2, G4 and G6), as they do without the cache.
func TestTheImpatientCostLittleAndNobodyCapacity(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leave float64
		every time.Duration
		// used is the least share of capacity in use, polls the most that reach the
		// store for each visitor.
		used, polls float64
	}{
		"every 3 s":                     {0, 3 * time.Second, 0.90, 28},
		"every 3 s, 90 % leave":         {0.9, 3 * time.Second, 0.87, 4},
		"every half second, 35 % leave": {0.35, time.Second / 2, 0.97, 22},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(tt.leave, tt.every)
			cfg.Zone.MaxPerSecond = zone.PerSecondNone // or they poll in step, and two seconds of three go by unused
			r, polls := through(t, cfg)
			each := float64(polls) / float64(cfg.Visitors)
			t.Logf("%.1f %% of capacity used; %.1f polls of each visitor reached the store, of %.1f of those let in",
				100*r.CapacityUsed, each, r.PollsMean)
			if r.CapacityUsed < tt.used || each > tt.polls {
				t.Errorf("want %.0f %% and %.0f polls", 100*tt.used, tt.polls)
			}
			if r.MaxInWindow > int(r.WindowLimit) || r.MaxInMinute > int(r.PerMinute) || r.PlacesLost > 0 || r.PositionsRose > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}
