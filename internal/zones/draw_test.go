package zones

import (
	"errors"
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
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
