package zones

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestRests: a zone rests five seconds after somebody asked about it, and never with a cap, a line, or a step of an event at hand. Its
// clock is known all the while, so that a step needs no further question.
func TestRests(t *testing.T) {
	t.Parallel()
	at := func(now time.Time, in time.Duration) event.State {
		opens := now.Add(in).UnixMilli()
		return event.State{Now: &event.Progress{Phase: event.PhaseAnnounced, PreQueueAtMillis: opens, OpensAtMillis: opens}}
	}
	for name, tt := range map[string]struct {
		change func(s *zone.Settings, now time.Time)
		state  line.State
		want   bool
	}{
		"nobody asks":              {func(*zone.Settings, time.Time) {}, line.State{}, true},
		"an event tomorrow":        {func(s *zone.Settings, now time.Time) { s.EventState = at(now, 24*time.Hour) }, line.State{}, true},
		"an event in four minutes": {func(s *zone.Settings, now time.Time) { s.EventState = at(now, 4*time.Minute) }, line.State{}, false},
		"a step that is late":      {func(s *zone.Settings, now time.Time) { s.EventState = at(now, -time.Hour) }, line.State{}, false},
		"a cap":                    {func(s *zone.Settings, _ time.Time) { s.MaxInside = 5 }, line.State{}, false},
		"somebody waits":           {func(*zone.Settings, time.Time) {}, line.State{Waiting: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeStore(settings("a", 60))
			r, clock := newTest(t, f, Options{})
			s := settings("a", 60)
			tt.change(&s, clock.Now())
			f.do(func() {
				f.zones["a"] = s
				f.answer.State = tt.state
				f.answer.State.NowMillis = clock.Now().UnixMilli()
			})
			r.readAndLog(t.Context())
			if _, err := r.Find(t.Context(), "a"); err != nil || r.Rests("a") {
				t.Fatalf("%v; it rests while a visitor asks", err)
			}
			if _, err := r.Observe(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if clock.Forward(6 * time.Second); r.Rests("a") != tt.want || r.NowMillis("a") != clock.Now().UnixMilli() {
				t.Errorf("rests %t, want %t; the clock %d, want %d", r.Rests("a"), tt.want, r.NowMillis("a"), clock.Now().UnixMilli())
			}
		})
	}
}

// TestLossesAreSaid: each loss counts, and a zone that is lost again and again is said once, and not one with a loss an hour.
func TestLossesAreSaid(t *testing.T) {
	t.Parallel()
	for apart, want := range map[time.Duration]int{time.Second: 1, time.Hour: 0} {
		f, m, said := newFakeStore(settings("a", 60)), &watched{}, new(strings.Builder)
		r, clock := newTest(t, f, Options{Meter: m, Logger: slog.New(slog.NewTextHandler(said, nil))})
		for i := range 6 {
			f.do(func() {
				now := clock.Now().UnixMilli()
				f.answer.State.NowMillis, f.answer.State.LostAtMillis = now, now*int64(min(i, 1))
			})
			if _, err := r.Observe(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			clock.Forward(apart)
		}
		if n := strings.Count(said.String(), "again and again"); n != want || m.counts[Lost] != 5 {
			t.Errorf("a loss each %v: said %d times, want %d; %d losses counted, want 5", apart, n, want, m.counts[Lost])
		}
	}
}
