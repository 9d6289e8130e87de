package simulate_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// crowd is the crowd of the promises: 20,000 visitors in 5 s, 2,000 a minute,
// 5 % of them silent once for 5 to 50 s.
func crowd(leave float64) simulate.Config {
	z := zone.Defaults("SIMULATED")
	z.PerMinute = 2000
	return simulate.Config{
		Visitors: 20_000, Arrive: 5 * time.Second, Zone: z,
		Leave: leave, Dark: 0.05, Seed: 1,
	}
}

func run(t *testing.T, cfg simulate.Config) simulate.Report {
	t.Helper()
	r, err := simulate.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPromises holds G1, G2, G3, G4, G6 and G7 against the figures of the design.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		leave float64
		used  float64
	}{
		{"nobody leaves", 0, 0.97},
		{"35 % leave", 0.35, 0.96},
		{"60 % leave", 0.60, 0.95},
		{"90 % leave", 0.90, 0.92},
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
			atMost(t, "polls max", float64(r.PollsMax), 41)
			if tt.leave == 0.35 {
				atMost(t, "estimate's error p50", r.EstimateErrorP50, 0.15)
			}
			left := float64(r.Left) / float64(r.Visitors)
			if d := left - tt.leave; d < -0.02 || d > 0.02 {
				t.Errorf("%.1f %% left, asked for %.0f %%", 100*left, 100*tt.leave)
			}
		})
	}
}

// TestStubbornClients poll every 3 s, whatever they are told.
func TestStubbornClients(t *testing.T) {
	t.Parallel()
	for _, leave := range []float64{0, 0.35, 0.60} {
		cfg := crowd(leave)
		cfg.PollEvery = 3 * time.Second
		r := run(t, cfg)
		neverOver(t, r)
		atLeast(t, "capacity used", r.CapacityUsed, 0.90)
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
				t.Errorf("%d admitted and %d left of %d: some are unaccounted for", r.Admitted, r.Left, r.Visitors)
			}
		})
	}
}

// TestRepeatable: the same seed gives the same run, another another.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	cfg := crowd(0.35)
	cfg.Visitors = 2_000
	first, second := run(t, cfg), run(t, cfg)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two runs of one seed differ:\n%+v\n%+v", first, second)
	}
	cfg.Seed = 2
	if reflect.DeepEqual(first, run(t, cfg)) {
		t.Error("two seeds gave the same run")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*simulate.Config){
		"nobody comes":      func(c *simulate.Config) { c.Visitors = 0 },
		"leave over 100 %":  func(c *simulate.Config) { c.Leave = 1.1 },
		"dark below 0":      func(c *simulate.Config) { c.Dark = -0.1 },
		"nobody is let in":  func(c *simulate.Config) { c.Zone.PerMinute = 0 },
		"polls too fast":    func(c *simulate.Config) { c.PollEvery = time.Millisecond },
		"arrival too long":  func(c *simulate.Config) { c.Arrive = 48 * time.Hour },
		"window of a day":   func(c *simulate.Config) { c.Zone.WindowSeconds = 86_400 },
		"arrives backwards": func(c *simulate.Config) { c.Arrive = -time.Second },
	} {
		cfg := crowd(0)
		spoil(&cfg)
		_, err := simulate.Run(t.Context(), cfg)
		if !errors.Is(err, simulate.ErrConfig) && !errors.Is(err, zone.ErrInvalid) {
			t.Errorf("%s: got %v, want an error of the configuration", name, err)
		}
	}
}

func TestMaxWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		times []int64
		span  int64
		want  int
	}{
		{nil, 10, 0},
		{[]int64{5}, 10, 1},
		{[]int64{0, 10}, 10, 2}, // a closed interval has both its ends
		{[]int64{0, 11}, 10, 1},
		{[]int64{0, 1, 2, 20, 21, 22, 23}, 10, 4},
	} {
		if got := simulate.MaxWithin(tt.times, tt.span); got != tt.want {
			t.Errorf("MaxWithin(%v, %d) = %d, want %d", tt.times, tt.span, got, tt.want)
		}
	}
}

func neverOver(t *testing.T, r simulate.Report) {
	t.Helper()
	atMost(t, "admissions in a window", float64(r.MaxInWindow), float64(r.WindowLimit))
	atMost(t, "admissions in a minute", float64(r.MaxInMinute), float64(r.PerMinute))
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
