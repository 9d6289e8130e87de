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
