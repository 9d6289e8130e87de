//go:build !race

package simulate_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
)

// TestCrowds plays each of the table's at a tenth of its size.
func TestCrowds(t *testing.T) {
	t.Parallel()
	for _, c := range simulate.Crowds() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			cfg := c.Config
			if cfg.Zone.PerMinute > 100 {
				cfg.Visitors, cfg.Rush, cfg.Zone.PerMinute = cfg.Visitors/10, cfg.Rush/10, cfg.Zone.PerMinute/10
				for i := range cfg.Changes {
					cfg.Changes[i].PerMinute /= 10
				}
			}
			r := run(t, cfg)
			if len(cfg.Changes) == 0 {
				neverOver(t, r)
				atLeast(t, "capacity used", r.CapacityUsed, 0.93)
			}
			atMost(t, "overtaken p99, windows", r.OvertakenP99, 0.6)
			atMost(t, "places lost", float64(r.PlacesLost), 0)
			atMost(t, "positions that rose", float64(r.PositionsRose), 0)
			if r.Admitted+r.Left != r.Visitors {
				t.Errorf("%d admitted and %d left of %d", r.Admitted, r.Left, r.Visitors)
			}
		})
	}
}

// TestTheyGoWhenTheyAreSaidTo: the crowd's moments are those that it is told of.
func TestTheyGoWhenTheyAreSaidTo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*simulate.Config)
		// before must hold at the first of the times, after at the second.
		at     [2]time.Duration
		before func(left, present, admitted int) bool
		after  func(left, present, admitted int) bool
	}{
		"in a wave": {func(c *simulate.Config) { c.Leave, c.LeaveAt = 1, time.Minute }, [2]time.Duration{time.Minute, 71 * time.Second},
			func(left, present, _ int) bool { return left == 0 && present > 500 }, func(_, present, _ int) bool { return present == 0 }},
		"early": {func(c *simulate.Config) { c.Leave, c.LeaveWithin = 1, 30*time.Second }, [2]time.Duration{time.Second, 36 * time.Second},
			func(left, _, _ int) bool { return left < 100 }, func(_, present, _ int) bool { return present == 0 }},
		"a rush": {func(c *simulate.Config) { c.Rush, c.RushAt = 500, time.Minute }, [2]time.Duration{59 * time.Second, 66 * time.Second},
			func(_, present, admitted int) bool { return present+admitted == 500 }, func(_, present, admitted int) bool { return present+admitted == 1000 }},
		"a pause": {func(c *simulate.Config) {
			c.Changes = []simulate.Change{{At: time.Minute}, {At: 2 * time.Minute, PerMinute: 200}}
		},
			[2]time.Duration{70 * time.Second, 119 * time.Second},
			func(_, _, admitted int) bool { return admitted <= 220 }, func(_, _, admitted int) bool { return admitted <= 220 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(0)
			cfg.Visitors, cfg.Zone.PerMinute, cfg.Dark = 1_000, 200, 0
			tt.change(&cfg)
			seen := 0
			cfg.Progress = func(m simulate.Moment) {
				for i, ok := range []func(int, int, int) bool{tt.before, tt.after} {
					if m.At == tt.at[i] {
						seen++
						if !ok(m.Left, m.Present, m.Admitted) {
							t.Errorf("at %s: %+v", m.At, m)
						}
					}
				}
			}
			run(t, cfg)
			if seen == 0 { // where all leave, the run ends before the second moment
				t.Error("neither moment was seen")
			}
		})
	}
}

// TestTheLineGoesOnAfterAPause: once an operator lets people in again, or opens a door at noon that was paused until then,
// the limit is used from the first seconds on. Nobody could tell those who wait when that would be.
func TestTheLineGoesOnAfterAPause(t *testing.T) {
	t.Parallel()
	const resumed = 3 * time.Minute
	for name, tt := range map[string]struct {
		paused    time.Duration
		perMinute int64
		within    time.Duration
		least     float64
	}{
		"a door":               {0, 600, 10 * time.Second, 0.7},
		"a door, a large zone": {0, 6_000, 10 * time.Second, 0.7},
		"a pause of 14 s":      {166 * time.Second, 600, 5 * time.Second, 0.55},
		"a pause of 25 s":      {155 * time.Second, 600, 5 * time.Second, 0.55},
		"a pause of 63 s":      {117 * time.Second, 600, 5 * time.Second, 0.55},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(0.1)
			cfg.Visitors, cfg.Zone.PerMinute, cfg.Dark = 3_000, tt.perMinute, 0
			cfg.Arrive, cfg.LeaveWithin = 20*time.Second, time.Minute
			cfg.Changes = []simulate.Change{{At: tt.paused}, {At: resumed, PerMinute: tt.perMinute}}
			var before, after int
			cfg.Progress = func(m simulate.Moment) {
				if m.At <= resumed {
					before = m.Admitted
				}
				if m.At <= resumed+tt.within {
					after = m.Admitted
				}
			}
			run(t, cfg)
			atLeast(t, "of the limit used", float64(after-before)/(float64(tt.perMinute)*tt.within.Minutes()), tt.least)
		})
	}
}
