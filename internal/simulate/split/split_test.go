package split

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/zone"
)

func zoneOf(perMinute, windowSeconds int64) zone.Settings {
	z := zone.Defaults("BIG")
	z.PerMinute, z.WindowSeconds = perMinute, windowSeconds
	return z
}

// TestSplit runs a crowd against one line and against several: see the table
// with go test -v. A line in parts must do what the contract asks of one.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		parts int
		leave float64
		used  float64
	}{
		{1, 0, .97}, {4, 0, .97}, {16, 0, .97},
		{1, .35, .96}, {4, .35, .96}, {16, .35, .96},
		{4, .6, .95},
	} {
		t.Run(fmt.Sprintf("%d parts, %.0f %% leave", tt.parts, 100*tt.leave), func(t *testing.T) {
			t.Parallel()
			got := Run(Config{
				Zone: zoneOf(30_000, 6), Parts: tt.parts, Visitors: 30_000, ArriveMillis: 10_000, Leave: tt.leave,
				RoundMillis: 100, Seed: 1,
			})
			t.Logf("capacity %.1f %%, overtaken p99 %.2f max %.2f windows, polls %.1f, messages %.0f/s, most %d and %d",
				100*got.CapacityUsed, got.OvertakenP99, got.OvertakenMax, got.Polls, got.Messages, got.MaxInWindow, got.MaxInMinute)
			neverOver(t, got)
			if got.CapacityUsed < tt.used {
				t.Errorf("%.1f %% of capacity were used, want %.0f", 100*got.CapacityUsed, 100*tt.used)
			}
			if got.OvertakenP99 > .5 || got.OvertakenMax > 2 {
				t.Errorf("overtaken by p99 %.2f and max %.2f windows, want 0.5 and 2", got.OvertakenP99, got.OvertakenMax)
			}
			if want := int(30_000 * (1 - tt.leave) * .9); got.Admitted < want {
				t.Errorf("%d were admitted, want at least %d", got.Admitted, want)
			}
		})
	}
}

// TestFaults has one thing go wrong at a time, far more often than it would.
func TestFaults(t *testing.T) {
	t.Parallel()
	type faults struct {
		Faults
		round int64
	}
	for name, f := range map[string]faults{
		"a tenth of the messages lost":       {Faults{Lost: .1}, 100},
		"a tenth repeated":                   {Faults{Repeated: .1}, 100},
		"a tenth up to 3 s late":             {Faults{Delayed: .1}, 100},
		"a part fails over, 6 a minute":      {Faults{PartRestarts: 6, SkewMillis: 2000}, 100},
		"the ledger fails over, 1 a minute":  {Faults{LedgerLosses: 1}, 100},
		"clocks 10 s off, drifting":          {Faults{SkewMillis: 10_000, DriftMillionths: 500}, 100},
		"a part is cut off, 6 a minute":      {Faults{Silences: 6}, 100},
		"leases end before they are renewed": {Faults{Lost: .3}, 900},
		"all of it": {Faults{
			Lost: .1, Repeated: .1, Delayed: .1, PartRestarts: 6, LedgerLosses: 1, Silences: 6, SkewMillis: 10_000, DriftMillionths: 500,
		}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Run(Config{
				Zone: zoneOf(12_000, 6), Parts: 4, Visitors: 15_000, ArriveMillis: 10_000, RoundMillis: f.round, Faults: f.Faults, Seed: 2,
			})
			t.Logf("capacity %.1f %%, most %d of %d and %d of %d", 100*got.CapacityUsed,
				got.MaxInWindow, got.WindowLimit, got.MaxInMinute, got.PerMinute)
			neverOver(t, got)
			if got.Admitted != 15_000 {
				t.Errorf("%d of 15,000 got in", got.Admitted)
			}
		})
	}
}

// TestNeverOver looks for any way to exceed a limit.
func TestNeverOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.Int64Range(60, 6000).Draw(t, "per minute")
		neverOver(t, Run(Config{
			Zone:         zoneOf(perMinute, rapid.Int64Range(1, 60).Draw(t, "window")),
			Parts:        rapid.IntRange(1, 8).Draw(t, "parts"),
			Visitors:     int(min(1500, 2*perMinute)),
			ArriveMillis: rapid.Int64Range(0, 30_000).Draw(t, "arrive"),
			Leave:        rapid.Float64Range(0, .9).Draw(t, "leave"),
			RoundMillis:  rapid.Int64Range(20, 2000).Draw(t, "round"),
			Faults: Faults{
				Lost:            rapid.Float64Range(0, .5).Draw(t, "lost"),
				Repeated:        rapid.Float64Range(0, .5).Draw(t, "repeated"),
				Delayed:         rapid.Float64Range(0, .5).Draw(t, "delayed"),
				PartRestarts:    rapid.Float64Range(0, 30).Draw(t, "restarts"),
				LedgerLosses:    rapid.Float64Range(0, 3).Draw(t, "losses"),
				Silences:        rapid.Float64Range(0, 10).Draw(t, "silences"),
				SkewMillis:      rapid.Int64Range(0, 20_000).Draw(t, "skew"),
				DriftMillionths: rapid.Int64Range(0, 900).Draw(t, "drift"),
			},
			Seed: rapid.Uint64().Draw(t, "seed"),
		}))
	})
}

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Errorf(format string, a ...any)
}

func neverOver(t fataler, got Report) {
	t.Helper()
	if int64(got.MaxInWindow) > got.WindowLimit {
		t.Errorf("%d in a window, at most %d", got.MaxInWindow, got.WindowLimit)
	}
	if int64(got.MaxInMinute) > got.PerMinute {
		t.Errorf("%d in a minute, at most %d", got.MaxInMinute, got.PerMinute)
	}
}
