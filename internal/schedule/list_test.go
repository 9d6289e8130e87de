package schedule

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/registry"
)

// forgets puts a store in the place of the servers' own that knows nothing of draws: all that was published is lost.
func (r *room) forgets() {
	r.t.Helper()
	empty, err := embedded.Open(embedded.Options{Now: func() time.Time { return r.at }})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = empty.Close() })
	for i := range r.servers {
		r.servers[i].Zones = forgetful{r.servers[i].zones, empty}
	}
}

// forgetful has its draws in a store of their own.
type forgetful struct {
	*registry.Registry
	draws *embedded.Store
}

func (f forgetful) KeepDraw(ctx context.Context, zoneID, event string, part int, text []byte) error {
	return f.draws.KeepDraw(ctx, zoneID, event, part, text)
}

func (f forgetful) Draw(ctx context.Context, zoneID, event string, part int) ([]byte, error) {
	return f.draws.Draw(ctx, zoneID, event, part)
}

// TestListThatIsLostIsWrittenAnew: by a server that has not written it, long after the opening, and the same.
func TestListThatIsLostIsWrittenAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	r.pass(11 * time.Second)
	r.join(40)
	r.pass(109 * time.Second)
	was, err := r.servers[0].Part(ctx, zoneID, "noon", "1")
	if err != nil || len(was.Tickets) != 40 {
		t.Fatalf("%+v, %v", was, err)
	}
	r.pass(time.Hour)
	for i := range r.servers { // each is the last one that remembers
		r.forgets()
		if _, err := r.servers[i].Part(ctx, zoneID, "noon", "1"); !errors.Is(err, ErrNoDraw) {
			t.Errorf("a list that is lost: %v", err)
		}
		clear(r.servers[1-i].lists)
		r.later(lookEvery * time.Millisecond)
		r.servers[i].RunOnce(ctx)
		is, err := r.servers[1-i].Part(ctx, zoneID, "noon", "1")
		if err != nil || !slices.Equal(is.Tickets, was.Tickets) {
			t.Errorf("%+v, %v", is, err)
		}
		r.pass(lookEvery * time.Millisecond) // the other one reads it
	}
}

// TestNoListWithoutAllOfTheLine: a line that was lost a moment before the draw closed is not whole yet, and nobody can
// tell who was in it when the sale has opened.
func TestNoListWithoutAllOfTheLine(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, remembers := range []bool{true, false} {
		r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
		r.pass(11 * time.Second)
		r.join(40)
		r.pass(109 * time.Second)
		r.forgets()
		if !remembers {
			for i := range r.servers {
				clear(r.servers[i].lists)
			}
		}
		r.pass(time.Minute)
		d, err := r.servers[0].Draw(ctx, zoneID, "noon")
		if err != nil || d.Seed == "" || (d.Tickets == 40) != remembers || (d.Parts == 1) != remembers {
			t.Errorf("remembered %t: %+v, %v", remembers, d, err)
		}
	}
}

// brief returns fewer at a time of the line than there are, as a store may.
type brief struct{ *registry.Registry }

func (b brief) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	all, err := b.Registry.Drawn(ctx, zoneID, after, fromMicros, uptoMicros)
	return all[:min(7, len(all))], err
}

// TestListHasAllOfTheLine: however many are read of it at a time.
func TestListHasAllOfTheLine(t *testing.T) {
	t.Parallel()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	for i := range r.servers {
		r.servers[i].Zones = brief{r.servers[i].zones}
	}
	r.pass(11 * time.Second)
	r.join(40)
	r.pass(109 * time.Second)
	if d, err := r.servers[0].Draw(t.Context(), zoneID, "noon"); err != nil || d.Tickets != 40 || d.Parts != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}
