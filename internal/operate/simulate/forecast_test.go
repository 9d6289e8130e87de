//go:build !race

// As promises_test.go, which says why.

package simulate_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// present is a line of so many that came within the last ten minutes, before a
// zone that has been at its limit for longer.
func present(waiting, perMinute int64) simulate.Present {
	const now = 1_795_223_373_123
	z := zone.Defaults("A")
	z.PerMinute = perMinute
	return simulate.Present{Settings: z, State: line.State{
		NowMillis: now, Waiting: waiting, EdgeMicros: (now - 600_000) * 1000, LastArrivalMicros: now * 1000,
		InWindow: perMinute / 10, InMinute: perMinute, WindowLimit: perMinute / 10,
	}}
}

// near reports whether got is within a share of want.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// TestForecastOfAFullZone: as many enter as leave.
func TestForecastOfAFullZone(t *testing.T) {
	t.Parallel()
	p := present(1_000, 600)
	p.Settings.MaxInside, p.State.Inside, p.StayMillis = 300, 300, 180_000
	if f := simulate.Predict(p); !f.Complete || !near(float64(*f.LastInMillis), 600_000, 0.05) {
		t.Errorf("%+v", f.LastInMillis)
	}
	p.State.Inside = 0 // an empty shop takes 300 at once
	if f := simulate.Predict(p); !near(float64(*f.LastInMillis), 430_000, 0.1) {
		t.Errorf("%d", *f.LastInMillis)
	}
}

// TestForecastOfALineThatStays is what one computes by hand: the limit, and a
// poll in ten to twenty seconds.
func TestForecastOfALineThatStays(t *testing.T) {
	t.Parallel()
	f := simulate.Predict(present(6_000, 600))
	if !f.Complete || f.Admitted != 6_000 || f.Left != 0 || f.Present != 6_000 {
		t.Errorf("%+v", f)
	}
	if !near(float64(*f.LastInMillis), 600_000, 0.03) || !near(float64(*f.MedianWaitMillis), 300_000, 0.03) ||
		!near(float64(*f.P95WaitMillis), 570_000, 0.03) {
		t.Errorf("last in %d ms, median %d, p95 %d", *f.LastInMillis, *f.MedianWaitMillis, *f.P95WaitMillis)
	}
	if f.PollsPerSecondMean < 150 || f.PollsPerSecondMean > 300 || f.PollsPerSecondPeak < 300 {
		t.Errorf("%v polls a second, %v at the peak", f.PollsPerSecondMean, f.PollsPerSecondPeak)
	}
	s := f.Series
	if n := len(s.AtMillis); n < 50 || n > 200 || len(s.Waiting) != n || len(s.Admitted) != n || len(s.PollsPerSecond) != n {
		t.Fatalf("%d points", len(s.AtMillis))
	}
	if s.AtMillis[0] != 0 || s.Waiting[0] != 6_000 || s.Admitted[0] != 0 || !slices.IsSorted(s.Admitted) || !slices.IsSorted(s.AtMillis) {
		t.Errorf("%+v", s)
	}
	for i := range s.AtMillis {
		if s.Waiting[i]+s.Admitted[i] != 6_000 {
			t.Errorf("at %d: %d wait and %d are in", s.AtMillis[i], s.Waiting[i], s.Admitted[i])
		}
	}
	if again := simulate.Predict(present(6_000, 600)); !reflect.DeepEqual(again, f) {
		t.Error("the same line has another forecast")
	}
}

// TestForecastBeforeAnOpening: nobody is in before it, whatever the date is.
func TestForecastBeforeAnOpening(t *testing.T) {
	t.Parallel()
	for _, date := range []int64{0, 400 * 24 * time.Hour.Milliseconds()} {
		p := present(600, 600)
		p.State.NowMillis += date
		p.State.EdgeMicros, p.State.LastArrivalMicros = p.State.EdgeMicros+date*1000, p.State.LastArrivalMicros+date*1000
		now := p.State.NowMillis
		gathers := event.Progress{
			Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, Order: event.OrderDraw,
			PreQueueAtMillis: now - 10_000, SettlesAtMillis: now + 1_770_000, OpensAtMillis: now + 1_800_000,
		}
		p.Settings.EventState = event.State{Now: &gathers, Draws: []event.Draw{{
			Event: "noon", GathersAtMillis: gathers.PreQueueAtMillis, SettlesAtMillis: gathers.SettlesAtMillis, OpensAtMillis: gathers.OpensAtMillis,
			FromMicros: gathers.PreQueueAtMillis * 1000, UptoMicros: gathers.SettlesAtMillis * 1000,
		}}}
		f := simulate.Predict(p)
		if !f.Complete || f.Admitted != 600 || !near(float64(*f.LastInMillis), 1_860_000, 0.01) || *f.MedianWaitMillis < 1_800_000 {
			t.Errorf("opens in half an hour: %+v", f)
		}
		if s := f.Series; s.AtMillis[0] != 0 || s.AtMillis[1] != 1_800_000 || s.Waiting[1] != 600 || s.Admitted[1] != 0 || len(s.PollsPerSecond) != len(s.AtMillis) {
			t.Errorf("opens in half an hour: %+v", s)
		}
		nobody := p
		nobody.State.Waiting, nobody.State.Released, nobody.State.Live = 0, 0, 0
		if f := simulate.Predict(nobody); !f.Complete || f.Waiting != 0 || f.LastInMillis != nil {
			t.Errorf("nobody has come yet: %+v", f)
		}
		held := gathers
		held.Held, held.OpensAtMillis, held.SettlesAtMillis = event.StepOpens, event.Never, event.Never
		p.Settings.EventState.Now = &held
		if f := simulate.Predict(p); f.Complete || f.Admitted != 0 {
			t.Errorf("its opening is held: %+v", f)
		}
		open := gathers
		open.Phase, open.OpensAtMillis, open.SettlesAtMillis = event.PhaseOpen, now-5_000, now-6_000
		p.Settings.EventState.Now = &open
		if f := simulate.Predict(p); !f.Complete || !near(float64(*f.LastInMillis), 60_000, 0.2) {
			t.Errorf("it has opened: %+v", f)
		}
	}
}

// TestForecastShowsWhatWasFull: after the limit was lowered, the last minute's
// admissions hold the line up; when it was raised, they do not.
func TestForecastShowsWhatWasFull(t *testing.T) {
	t.Parallel()
	lowered := present(600, 600)
	lowered.Settings.PerMinute = 60
	if f := simulate.Predict(lowered); f.Series.Admitted[slices.Index(f.Series.AtMillis, 8_000)] != 0 {
		t.Errorf("within 8 s of the change: %+v", f.Series)
	}
	raised := present(600, 60)
	raised.Settings.PerMinute = 600
	if f := simulate.Predict(raised); *f.LastInMillis > 65_000 {
		t.Errorf("the last is in after %d ms", *f.LastInMillis)
	}
}

// TestForecastWhatCannotBe: nobody waits, nobody is let in, or not within a day.
func TestForecastWhatCannotBe(t *testing.T) {
	t.Parallel()
	empty := simulate.Predict(present(0, 600))
	if !empty.Complete || empty.LastInMillis != nil || empty.MedianWaitMillis != nil || len(empty.Series.AtMillis) != 1 {
		t.Errorf("of nobody: %+v", empty)
	}
	held := present(1_000, 600)
	held.Settings.PerMinute, held.DeparturesPerMinute = 0, 20
	f := simulate.Predict(held)
	if f.Complete || f.LastInMillis != nil || f.Admitted != 0 || !near(float64(f.Left), 1000*(1-math.Exp(-1.2)), 0.1) {
		t.Errorf("held for an hour: complete %t, admitted %d, left %d", f.Complete, f.Admitted, f.Left)
	}
	slow := simulate.Predict(present(20_000, 10))
	if slow.Complete || slow.LastInMillis != nil || !near(float64(slow.Admitted), 14_400, 0.05) {
		t.Errorf("after a day: %d admitted", slow.Admitted)
	}
	opened := present(5_000, 600)
	opened.Settings.Mode = zone.ModeOpen
	if f := simulate.Predict(opened); !f.Complete || *f.LastInMillis > 25_000 {
		t.Errorf("open to all: %+v", f)
	}
}

// TestForecastIsInProportion: of eight times as many at eight times the limit.
func TestForecastIsInProportion(t *testing.T) {
	t.Parallel()
	small, large := present(50_000, 6_000), present(400_000, 48_000)
	small.SweptPerMinute, large.SweptPerMinute = 1_000, 8_000
	a, b := simulate.Predict(small), simulate.Predict(large)
	for name, got := range map[string][2]float64{
		"last in":       {float64(*a.LastInMillis), float64(*b.LastInMillis)},
		"median":        {float64(*a.MedianWaitMillis), float64(*b.MedianWaitMillis)},
		"admitted":      {8 * float64(a.Admitted), float64(b.Admitted)},
		"polls":         {8 * a.PollsPerSecondMean, b.PollsPerSecondMean},
		"polls, at top": {8 * a.PollsPerSecondPeak, b.PollsPerSecondPeak},
	} {
		if !near(got[1], got[0], 0.01) {
			t.Errorf("%s: %v, want %v", name, got[1], got[0])
		}
	}
}

// TestForecastComesTrue: of a crowd that is watched for a while, then forecast,
// the forecast is what the same simulated crowd goes on to show. Its visitors
// leave early in their wait. Where all came at once, fewer and fewer do, which
// the room learns late: there the forecast is early.
func TestForecastComesTrue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leave             float64
		arrive, at        time.Duration
		present, tolerant float64
	}{
		"nobody leaves":             {0, 5 * time.Second, 150 * time.Second, 0, 0.02},
		"a third leaves":            {0.35, 300 * time.Second, 300 * time.Second, 0.1, 0.1},
		"a third leaves, later":     {0.35, 300 * time.Second, 350 * time.Second, 0.1, 0.12},
		"all came at once":          {0.35, 5 * time.Second, 60 * time.Second, 0.35, 0.1},
		"all came at once, later":   {0.35, 5 * time.Second, 150 * time.Second, 0.15, 0.3},
		"three in five are leaving": {0.6, 5 * time.Second, 60 * time.Second, 0.5, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := crowd(tt.leave)
			cfg.Dark, cfg.Arrive, cfg.Visitors, cfg.Zone.PerMinute = 0, tt.arrive, 10_000, 1_000
			var before, now simulate.Moment
			cfg.Progress = func(m simulate.Moment) {
				if m.At == tt.at-time.Minute {
					before = m
				}
				if m.At == tt.at {
					now = m
				}
			}
			r := run(t, cfg)
			f := simulate.Predict(simulate.Present{
				Settings: cfg.Zone, State: now.State,
				SweptPerMinute: float64(now.Totals.Swept - before.Totals.Swept),
			})
			want := float64(r.LastInMs - tt.at.Milliseconds())
			t.Logf("of %d there are %d, forecast %d; last in after %d ms, forecast %d",
				now.State.Waiting, now.Present, f.Present, int64(want), *f.LastInMillis)
			if !near(float64(*f.LastInMillis), want, tt.tolerant) {
				t.Errorf("the last is in after %.0f ms, forecast %d", want, *f.LastInMillis)
			}
			if !near(float64(f.Present), float64(now.Present), tt.present) {
				t.Errorf("%d are there, forecast %d", now.Present, f.Present)
			}
		})
	}
}
