//go:build !race

package split

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestSplit runs a crowd against one line and against several. A line in parts
// must do what the contract asks of one; small parts use a little less.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		parts int
		leave float64
		used  float64
	}{
		{1, 0, .97}, {4, 0, .96}, {16, 0, .95},
		{1, .35, .96}, {4, .35, .96}, {16, .35, .95},
		{4, .6, .95},
	} {
		t.Run(fmt.Sprintf("%d parts, %.0f %% leave", tt.parts, 100*tt.leave), func(t *testing.T) {
			t.Parallel()
			const visitors = 36_000
			got := Run(Config{
				Zone: zoneOf(6000, 6), Parts: tt.parts, Visitors: visitors, ArriveMillis: 10_000, Leave: tt.leave,
				RoundMillis: 50, Seed: 1,
			})
			t.Logf("%+v", got)
			neverOver(t, got)
			if got.CapacityUsed < tt.used {
				t.Errorf("%.1f %% of capacity were used, want %.0f", 100*got.CapacityUsed, 100*tt.used)
			}
			if got.OvertakenP99 > .5 || got.OvertakenMax > 2 {
				t.Errorf("overtaken by p99 %.2f and max %.2f windows, want 0.5 and 2", got.OvertakenP99, got.OvertakenMax)
			}
			if want := int(visitors * (1 - tt.leave) * .9); got.Admitted < want || got.Waiting > 0 {
				t.Errorf("%d were admitted, want at least %d; %d wait", got.Admitted, want, got.Waiting)
			}
		})
	}
}

// faults has one thing go wrong at a time, far more often than it would; used
// is how much of capacity must be used all the same.
var faults = []struct {
	name  string
	round int64
	Faults
	used float64
}{
	{"nothing", 50, Faults{}, .95},
	{"a tenth of the messages lost", 50, Faults{Lost: .1}, .94},
	{"a tenth repeated", 50, Faults{Repeated: .1}, .95},
	{"a tenth up to 3 s late", 50, Faults{Delayed: .1}, .93},
	{"clocks 10 s off, a tenth faster or slower", 50, Faults{SkewMillis: 10_000, DriftMillionths: 100_000}, .95},
	{"a part fails over at once, 6 a minute", 50, Faults{PartRestarts: 6, SkewMillis: 2000}, .8},
	{"and its old master goes on for 3 s, 6 a minute", 50, Faults{Twins: 6, SkewMillis: 2000}, .65},
	{"a part is away for 5 s, 1 a minute", 50, Faults{PartDeaths: 1, SkewMillis: 2000}, .9},
	{"a part is cut off for 3 s, 1 a minute", 50, Faults{Silences: 1}, .9},
	{"the ledger fails over at once, 1 a minute", 50, Faults{LedgerLosses: 1}, .8},
	{"the ledger is away for 5 s, 1 a minute", 50, Faults{LedgerDeaths: 1}, .6},
	{"leases end before they are renewed", 900, Faults{Lost: .3}, .3},
	{"all of it", 50, Faults{
		Lost: .1, Repeated: .1, Delayed: .1, PartRestarts: 1, PartDeaths: 1, LedgerLosses: .5, LedgerDeaths: .5,
		Silences: 1, Twins: 1, SkewMillis: 10_000, DriftMillionths: 100_000,
	}, .3},
}

// TestFaults: no fault exceeds a limit or stalls the line.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			const visitors = 15_000
			got := Run(Config{
				Zone: zoneOf(6000, 6), Parts: 4, Visitors: visitors, ArriveMillis: 10_000, RoundMillis: f.round, Faults: f.Faults, Seed: 2,
			})
			t.Logf("%+v", got)
			neverOver(t, got)
			if got.Admitted != visitors {
				t.Errorf("%d of %d got in", got.Admitted, visitors)
			}
			if got.CapacityUsed < f.used {
				t.Errorf("%.1f %% of capacity were used, want %.0f", 100*got.CapacityUsed, 100*f.used)
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
				PartDeaths:      rapid.Float64Range(0, 5).Draw(t, "deaths"),
				Twins:           rapid.Float64Range(0, 30).Draw(t, "twins"),
				LedgerDeaths:    rapid.Float64Range(0, 1).Draw(t, "ledger deaths"),
				LedgerLosses:    rapid.Float64Range(0, 3).Draw(t, "losses"),
				Silences:        rapid.Float64Range(0, 10).Draw(t, "silences"),
				SkewMillis:      rapid.Int64Range(0, 20_000).Draw(t, "skew"),
				DriftMillionths: rapid.Int64Range(0, 125_000).Draw(t, "drift"),
			},
			LongestMillis: 120_000,
			Seed:          rapid.Uint64().Draw(t, "seed"),
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
