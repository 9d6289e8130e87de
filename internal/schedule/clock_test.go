package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

// TestTheStoresClockDecides: of two servers one's clock is 10 s ahead and jumps to 10 s behind at the opening, and the
// other's the other way round. People gather, settle and go in by the store's clock, and each step is made at its time.
func TestTheStoresClockDecides(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const gathers, opens = 20 * time.Second, 2 * time.Minute
	r := newRoom(t, event.Event{Order: event.OrderDraw}, gathers, opens)
	begun := r.Now()
	keys, err := token.NewKeys([]byte(strings.Repeat("k", token.MinSecretBytes)))
	parts.Must(t, err)
	r.servers = nil
	for i := range 2 {
		wrong := func() time.Time {
			by := 10 * time.Second
			if (i == 0) == r.Now().Before(begun.Add(opens)) {
				return r.Now().Add(by)
			}
			return r.Now().Add(-by)
		}
		r.serve(keys, wrong)
	}
	r.pass(gathers + time.Second)
	r.join(40)
	r.pass(opens - 30*time.Second - gathers - time.Second - time.Millisecond)
	poll := func(name string) line.Told {
		t.Helper()
		a, err := r.servers[len(name)%2].Zones.Known(zoneID).Poll(ctx, r.places[name])
		parts.Must(t, err)
		return a
	}
	for name := range r.places {
		if a := poll(name); a.Position != 0 {
			t.Fatalf("a millisecond before people settle, %s hears of %d", name, a.Position)
		}
	}
	r.Forward(time.Millisecond)
	first := ""
	for name := range r.places {
		if a := poll(name); a.Position == 1 {
			first = name
		} else if a.Position == 0 {
			t.Errorf("people have settled, and %s has no number", name)
		}
	}
	r.pass(30*time.Second - time.Millisecond)
	if a := poll(first); a.Status != line.Waiting {
		t.Errorf("a millisecond before the opening: %+v", a)
	}
	r.Forward(time.Millisecond)
	if a := poll(first); a.Status != line.Admitted || a.AdmittedAtMillis != begun.Add(opens).UnixMilli() {
		t.Errorf("at the opening: %+v", a)
	}
	r.pass(time.Second)
	changes, err := r.store.Changes(ctx, zoneID)
	parts.Must(t, err)
	var made []string
	for _, c := range changes {
		if p := c.Now.EventState.Now; p != nil {
			made = append(made, fmt.Sprintf("%s %v", p.Phase, time.UnixMilli(c.AtMillis).Sub(begun)))
		}
	}
	if got, want := strings.Join(made, ", "), "open 2m0s, gathering 20s, announced 0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
