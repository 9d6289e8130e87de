package zones

import (
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// anySeed is that of every draw.
type anySeed struct{}

func (anySeed) Seed(string, event.Draw) (event.Seed, bool) { return event.Seed{1}, true }

// TestServerThatHasNotHeardOfTheDraw reads the zone once, and asks again with the score.
func TestServerThatHasNotHeardOfTheDraw(t *testing.T) {
	f := newFakeStore(settings("a", 1))
	r, _ := newTest(t, f, Options{DrawSeeds: anySeed{}})
	id := line.ID{7}
	d := event.Draw{Event: "noon", Nonce: "n", FromMicros: 1_000_000, UptoMicros: 9_000_000, GathersAtMillis: 1_000, SettlesAtMillis: 9_000}
	f.do(func() {
		s := f.zones["a"]
		s.EventState = event.State{Now: &event.Progress{Event: event.Event{Name: "noon"}, Fixed: true, Order: event.OrderDraw}, Draws: []event.Draw{d}}
		f.zones["a"] = s
		f.answer.Status = line.Undrawn
	})
	f.before = func(call, _ string) {
		if call == "Zone" {
			f.do(func() { f.answer.Status = line.Waiting })
		}
	}
	want := d.Score(event.Seed{1}, event.TicketOf("a", "noon", id))
	if a, err := r.Join(t.Context(), "a", id); err != nil || a.Status != line.Waiting || a.Place.ScoreMicros != want {
		t.Errorf("join: %+v, %v; want the score %d", a, err, want)
	}
	f.wantCalls(t, map[string]int{"Join": 1, "Zone": 1, "JoinDrawn": 1})
	if _, err := r.Join(t.Context(), "a", id); err != nil {
		t.Errorf("join, with the draw known: %v", err)
	}
	f.wantCalls(t, map[string]int{"JoinDrawn": 1})

	// Where it cannot help, it is not tried again and again.
	f.before = nil
	f.do(func() { f.answer.Status = line.Undrawn })
	for call, do := range map[string]func() (line.Told, error){
		"JoinDrawn": func() (line.Told, error) { return r.Join(t.Context(), "a", id) },
		"Poll": func() (line.Told, error) {
			return r.Poll(t.Context(), "a", line.Place{ID: id, ArrivedAtMicros: 2_000_000})
		},
	} {
		if _, err := do(); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("%s: %v, want ErrStoreUnavailable: the place is kept", call, err)
		}
		f.wantCalls(t, map[string]int{call: 2, "Zone": 1})
	}
}

// TestWhoComesBeforePeopleGather is drawn with the first poll from then on, by a server that knows the store's time, and by one
// whose clock is an hour behind and has not heard of it yet.
func TestWhoComesBeforePeopleGather(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]time.Duration{"a server": 0, "a clock that is behind": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := parts.NewClock()
			store := parts.OpenStore(t, clock.Now, nil)
			servers := func(behind time.Duration) *Zones {
				r := New(Options{Store: store, Now: func() time.Time { return clock.Now().Add(-behind) }, DrawSeeds: anySeed{}})
				t.Cleanup(r.Stop)
				return r
			}
			early, r := servers(0), servers(behind)
			s := zone.Defaults("Z")
			s.PerMinute = 0
			gathers := clock.Now().Add(time.Minute).UnixMilli()
			d := event.Draw{Event: "noon", Nonce: "n", FromMicros: gathers * 1000, UptoMicros: (gathers + 60_000) * 1000, GathersAtMillis: gathers, SettlesAtMillis: gathers + 60_000}
			s.EventState = event.State{Draws: []event.Draw{d}, Now: &event.Progress{
				Event: event.Event{Name: "noon"}, Fixed: true, Order: event.OrderDraw, PreQueueAtMillis: gathers, SettlesAtMillis: d.SettlesAtMillis, OpensAtMillis: d.SettlesAtMillis + 30_000,
			}}
			_, err := early.PutZone(t.Context(), s, nil, audit.By{Name: "anna"})
			parts.Must(t, err)
			id := line.ID{7}
			was, err := early.Join(t.Context(), "Z", id)
			parts.Must(t, err)
			clock.Forward(time.Minute)
			is, err := r.Poll(t.Context(), "Z", was.Place)
			if err != nil || is.Status != line.Waiting || !d.Holds(is.Place.ArrivedAtMicros) {
				t.Fatalf("%+v, %v", is, err)
			}
			drawn, err := store.Drawn(t.Context(), "Z", line.Place{}, d.FromMicros, d.UptoMicros)
			if want := d.Score(event.Seed{1}, event.TicketOf("Z", "noon", id)); err != nil || len(drawn) != 1 || drawn[0].ScoreMicros != want {
				t.Errorf("%+v, %v; want the score %d", drawn, err, want)
			}
		})
	}
}
