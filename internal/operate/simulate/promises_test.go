//go:build !race

// One goroutine in virtual time: the race detector would find nothing here, and
// take ten times as long to do so. make test runs these without it.

package simulate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestPromises holds G1, G2, G3, G4, G6, G6a and G7 against the figures of the design.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		leave float64
		used  float64
		// off is the estimate's median error, held the least share of waits that lie in the range told.
		off, held float64
	}{
		{"nobody leaves", 0, 0.98, 0.05, 0.8},
		{"35 % leave", 0.35, 0.98, 0.10, 0.8},
		{"60 % leave", 0.60, 0.97, 0.15, 0.8},
		{"90 % leave", 0.90, 0.96, 0.65, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, crowd(tt.leave))
			neverOver(t, r)
			atLeast(t, "capacity used", r.CapacityUsed, tt.used)
			atMost(t, "overtaken p99, windows", r.OvertakenP99, 0.5)
			atMost(t, "overtaken max, windows", r.OvertakenMax, 2)
			atMost(t, "places lost", float64(r.PlacesLost), 0)
			atMost(t, "positions that rose", float64(r.PositionsRose), 0)
			atMost(t, "polls p99", r.PollsP99, 40)
			// Of 600,000 visitors of 30 seeds, 2 needed a 41st.
			atMost(t, "polls max", float64(r.PollsMax), 40)
			atMost(t, "estimate's error p50", r.EstimateErrorP50, tt.off)
			atLeast(t, "waits in the range told", r.EstimateCovered, tt.held)
			left := float64(r.Left) / float64(r.Visitors)
			if d := left - tt.leave; d < -0.02 || d > 0.02 {
				t.Errorf("%.1f %% left, asked for %.0f %%", 100*left, 100*tt.leave)
			}
		})
	}
}

// TestPhonesInPockets: 30 % are silent for 2 to 14 minutes, and come back to places that were set aside, which mostly stand before those who
// stayed. It costs those nothing but the waits of those who came before them, and the estimates tell.
func TestPhonesInPockets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arrive    time.Duration
		visitors  int
		leave     float64
		off, held float64
	}{
		{5 * time.Second, 20_000, 0, 0.08, 0.83},
		{5 * time.Second, 20_000, 0.35, 0.09, 0.83},
		{10 * time.Minute, 30_000, 0, 0.05, 0.95},
	} {
		t.Run(fmt.Sprintf("%d in %v, %.0f %% leave", tt.visitors, tt.arrive, 100*tt.leave), func(t *testing.T) {
			t.Parallel()
			cfg := crowd(tt.leave)
			cfg.Visitors, cfg.Arrive, cfg.Dark = tt.visitors, tt.arrive, 0.3
			cfg.DarkFor = []time.Duration{2 * time.Minute, 14 * time.Minute}
			r := run(t, cfg)
			neverOver(t, r)
			atLeast(t, "capacity used", r.CapacityUsed, 0.96)
			atMost(t, "places lost", float64(r.PlacesLost+r.Swept), 0)
			atMost(t, "positions that rose", float64(r.PositionsRose), 0)
			atMost(t, "estimate's error p50", r.EstimateErrorP50, tt.off)
			atLeast(t, "waits in the range told", r.EstimateCovered, tt.held)
		})
	}
}

// TestShortWaits: where one waits for a few windows, it matters that the slots of a window open together and are taken a
// second's worth at a time.
func TestShortWaits(t *testing.T) {
	t.Parallel()
	cfg := crowd(0)
	cfg.Visitors, cfg.Zone.PerMinute, cfg.Dark = 800, 1500, 0
	r := run(t, cfg)
	atMost(t, "estimate's error p50", r.EstimateErrorP50, 0.12)
	atMost(t, "estimate's error p90", r.EstimateErrorP90, 0.40)
}

// TestStubbornClients poll every 3 s, whatever they are told. Where 90 % leave,
// that costs 10 to 11 % of capacity. Who came within 5 s polls in step: with an even flow
// half of the slots open while nobody asks.
func TestStubbornClients(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		leave, used float64
		perSecond   zone.PerSecond
	}{
		{0, 0.90, zone.PerSecondNone}, {0.35, 0.90, zone.PerSecondNone}, {0.60, 0.90, zone.PerSecondNone}, {0.90, 0.87, zone.PerSecondNone},
		{0.90, 0.40, zone.PerSecondAuto},
	} {
		cfg := crowd(tt.leave)
		cfg.PollEvery, cfg.Zone.MaxPerSecond = 3*time.Second, tt.perSecond
		r := run(t, cfg)
		neverOver(t, r)
		atLeast(t, "capacity used", r.CapacityUsed, tt.used)
		atMost(t, "places lost", float64(r.PlacesLost), 0)
		atMost(t, "positions that rose", float64(r.PositionsRose), 0)
	}
}

// TestSizes: small limits admit what they say and not nothing, huge ones too.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		visitors  int
		perMinute int64
		window    int64
	}{
		{"five a minute", 40, 5, 6},
		{"five a minute, window of a second", 40, 5, 1},
		{"one a second", 500, 60, 6},
		{"no whole number in a window", 500, 77, 7},
		{"window of a minute", 2_000, 600, 60},
		{"ten thousand a second", 200_000, 600_000, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(0.35)
			cfg.Visitors, cfg.Zone.PerMinute, cfg.Zone.WindowSeconds = tt.visitors, tt.perMinute, tt.window
			r := run(t, cfg)
			neverOver(t, r)
			atMost(t, "places lost", float64(r.PlacesLost), 0)
			atMost(t, "positions that rose", float64(r.PositionsRose), 0)
			if r.Admitted+r.Left != r.Visitors {
				t.Errorf("%d admitted and %d left of %d: the others lost their places", r.Admitted, r.Left, r.Visitors)
			}
		})
	}
}

// TestTheLineGoesOnAfterAPause: once an operator admits people again, or opens a door at noon that was paused until then,
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
			cfg.Arrive = 20 * time.Second
			cfg.Changes = []simulate.Change{{At: tt.paused}, {At: resumed, PerMinute: tt.perMinute}}
			var before, after int
			cfg.Progress = func(at time.Duration, admitted int) {
				if at <= resumed {
					before = admitted
				}
				if at <= resumed+tt.within {
					after = admitted
				}
			}
			run(t, cfg)
			atLeast(t, "of the limit used", float64(after-before)/(float64(tt.perMinute)*tt.within.Minutes()), tt.least)
		})
	}
}

func neverOver(t *testing.T, r simulate.Report) {
	t.Helper()
	atMost(t, "admissions in a window", float64(r.MaxInWindow), float64(r.WindowLimit))
	atMost(t, "admissions in a minute", float64(r.MaxInMinute), float64(r.PerMinute))
	atMost(t, "admissions in a second, from a line", float64(r.MaxInSecond), float64(r.PerSecond))
}

func atMost(t *testing.T, what string, got, limit float64) {
	t.Helper()
	if got > limit {
		t.Errorf("%s: %g, must be at most %g", what, got, limit)
	}
}

func atLeast(t *testing.T, what string, got, limit float64) {
	t.Helper()
	if got < limit {
		t.Errorf("%s: %g, must be at least %g", what, got, limit)
	}
}

// TestInside holds G14, and what a full zone costs: the cap is used, the estimate follows those who leave.
func TestInside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		stay    time.Duration
		session int64
		done    float64
		// people is the least share of the cap that is people.
		people, off, held float64
	}{
		{"all who go are reported", 70 * time.Second, 120, 1, 0.97, 0.20, 0.70},
		{"nine of ten are", 70 * time.Second, 120, 0.9, 0.75, 0.20, 0.75},
		{"nine of ten are, of long sessions", 5 * time.Minute, 1800, 0.9, 0.70, 0.20, 0.75},
		{"half of them are", 5 * time.Minute, 300, 0.5, 0.70, 0.20, 0.75},
		{"nobody is", 70 * time.Second, 120, 0, 0.20, 0.50, 0.40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(0.35)
			cfg.Visitors, cfg.Zone.PerMinute, cfg.Zone.MaxInside, cfg.Zone.SessionSeconds = 3000, 600, 300, tt.session
			cfg.Stay, cfg.Done = tt.stay, tt.done
			r := run(t, cfg)
			neverOver(t, r)
			atMost(t, "inside", float64(r.MostInside), 300)
			atLeast(t, "the cap in use", r.InsideUsed, 0.97)
			atLeast(t, "by people", r.InsidePeople, tt.people)
			atMost(t, "places lost", float64(r.PlacesLost), 0)
			atMost(t, "positions that rose", float64(r.PositionsRose), 0)
			atMost(t, "estimate's error p50", r.EstimateErrorP50, tt.off)
			atLeast(t, "waits in the range told", r.EstimateCovered, tt.held)
		})
	}
}

// TestEstimatesWithACap: estimates where the cap holds, at the opening of an event, for a crowd that comes at once, and after a pause. Where each stays
// for a fixed time, the ends tell; else the pace of those who leave.
func TestEstimatesWithACap(t *testing.T) {
	t.Parallel()
	for _, by := range []zone.InsideBy{zone.InsideByAdmission, zone.InsideBySession} {
		for _, stay := range []time.Duration{time.Minute, 4 * time.Minute} {
			for _, when := range []string{"event", "crowd", "pause"} {
				t.Run(fmt.Sprintf("by %s, %v, %s", by, stay, when), func(t *testing.T) {
					t.Parallel()
					c := noon()
					c.Visitors, c.Stay, c.Done = 400, stay, 1
					c.Zone.SessionSeconds, c.Zone.PassTTLSeconds, c.Zone.InsideBy = 2*int64(stay.Seconds()), 60, by
					off, held, most := 0.26, 0.65, 1.0
					if by == zone.InsideByAdmission {
						c.Zone.SessionSeconds, c.Done = int64(stay.Seconds()), 0
						off, held, most = 0.20, 0.75, 0.90
					}
					c.Zone.Events[0].Settings["maxInside"] = "100"
					var r simulate.Report
					if when == "event" {
						r = play(t, c).Report
					} else {
						c.Zone.Events, c.Zone.MaxInside, c.Zone.PerMinute, c.Arrive = nil, 100, 600, time.Minute
						if when == "pause" { // for as long as a visitor stays
							c.Changes = []simulate.Change{{At: time.Minute, PerMinute: 0}, {At: time.Minute + stay, PerMinute: 600}}
						}
						r = run(t, c)
					}
					t.Logf("%.0f %% off in the median, %.0f %% of %d in the range", 100*r.EstimateErrorP50, 100*r.EstimateCovered, r.EstimatesJudged)
					atMost(t, "estimate's error p50", r.EstimateErrorP50, off)
					atLeast(t, "waits in the range told", r.EstimateCovered, held)
					atMost(t, "waits in the range told", r.EstimateCovered, most)
				})
			}
		}
	}
}
