package simulate_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
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

// TestEverybodyIsAccountedFor, whatever became of them: those silent for longer
// than a short idle timeout are swept, and it costs nobody else the place.
func TestEverybodyIsAccountedFor(t *testing.T) {
	t.Parallel()
	cfg := crowd(0.2)
	cfg.Visitors, cfg.Zone.PerMinute, cfg.Dark = 3_000, 600, 0.3
	cfg.Zone.IdleTimeoutSeconds, cfg.Zone.KeepPlaceSeconds, cfg.Zone.MaxWaiting = 10, 5, 2_500
	r := run(t, cfg)
	if r.Swept == 0 || r.Refused == 0 || r.PlacesLost != 0 {
		t.Errorf("%d swept and %d refused, want some of each; %d places lost, want none", r.Swept, r.Refused, r.PlacesLost)
	}
	if r.Admitted+r.Left+r.Swept+r.Refused != r.Visitors {
		t.Errorf("%d + %d + %d + %d are not %d", r.Admitted, r.Left, r.Swept, r.Refused, r.Visitors)
	}
}

// TestBurst: those who come to an empty room are admitted at once, up to the
// burst; in the minute the limit holds.
func TestBurst(t *testing.T) {
	t.Parallel()
	cfg := crowd(0)
	cfg.Visitors, cfg.Zone.PerMinute, cfg.Zone.Burst = 200, 60, 10
	r := run(t, cfg)
	if r.MaxInWindow != int(r.WindowLimit+r.Burst) || r.MaxInMinute > 60 {
		t.Errorf("%d in a window of %d and a burst of %d, %d in a minute of 60",
			r.MaxInWindow, r.WindowLimit, r.Burst, r.MaxInMinute)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*simulate.Config){
		"nobody comes":       func(c *simulate.Config) { c.Visitors = 0 },
		"leave over 100 %":   func(c *simulate.Config) { c.Leave = 1.1 },
		"dark below 0":       func(c *simulate.Config) { c.Dark = -0.1 },
		"nobody is admitted": func(c *simulate.Config) { c.Zone.PerMinute = 0 },
		"polls too fast":     func(c *simulate.Config) { c.PollEvery = time.Millisecond },
		"arrival too long":   func(c *simulate.Config) { c.Arrive = 48 * time.Hour },
		"window of a day":    func(c *simulate.Config) { c.Zone.WindowSeconds = 86_400 },
		"paused for good":    func(c *simulate.Config) { c.Changes = []simulate.Change{{At: time.Minute}} },
		"arrives backwards":  func(c *simulate.Config) { c.Arrive = -time.Second },
	} {
		cfg := crowd(0)
		spoil(&cfg)
		_, err := simulate.Run(t.Context(), cfg)
		if !errors.Is(err, simulate.ErrConfig) && !errors.Is(err, zone.ErrInvalid) {
			t.Errorf("%s: got %v, want an error of the configuration", name, err)
		}
	}
}
