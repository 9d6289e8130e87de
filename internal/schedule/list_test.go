package schedule

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gathers and opens are when people gather for the draws of these tests, and when those open.
const gathers, opens = 10 * time.Second, 2 * time.Minute

// closed is a room in which 40 have gathered for a draw, 2 s before the draw closes.
func closed(t *testing.T) *room {
	t.Helper()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, gathers, opens)
	r.pass(gathers + time.Second)
	r.join(40)
	r.pass(opens - 32*time.Second - gathers - time.Second)
	return r
}

// list is the list of the draw as a server has it; nil for none.
func (s server) published(t *testing.T) []byte {
	t.Helper()
	_, list, err := s.List(t.Context(), zoneID, "noon")
	if err != nil && !errors.Is(err, ErrNoDraw) {
		t.Fatal(err)
	}
	return list
}

// forgets puts a store in the place of the servers' own that knows nothing of draws: all that was published is lost.
func (r *room) forgets() {
	r.t.Helper()
	empty := parts.OpenStore(r.t, r.Now, nil).Store
	for i := range r.servers {
		r.servers[i].way.draws = empty
	}
}

// TestListThatIsLostIsWrittenAnew: by a server that has not written it, long after the opening, and the same.
func TestListThatIsLostIsWrittenAnew(t *testing.T) {
	t.Parallel()
	r := closed(t)
	r.pass(32 * time.Second)
	was := r.servers[0].published(t)
	if len(was) != 40*ticketBytes {
		t.Fatalf("%d bytes", len(was))
	}
	d, err := r.servers[0].Draw(t.Context(), zoneID, "noon")
	parts.Must(t, err)
	w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	q.Header.Set("Range", "bytes=16-47")
	d.ServeList(w, q, was)
	if w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), was[16:48]) || w.Header().Get("ETag") != `"`+d.ListHash+`"` {
		t.Errorf("two tickets of it: %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
	r.pass(time.Hour)
	for i := range r.servers { // each is the last one that remembers
		r.forgets()
		clear(r.servers[1-i].lists)
		r.Forward(lookEvery * time.Millisecond)
		r.servers[i].RunOnce(t.Context())
		r.servers[1-i].RunOnce(t.Context())
		if is := r.servers[1-i].published(t); !bytes.Equal(is, was) {
			t.Errorf("%d bytes, want the same %d", len(is), len(was))
		}
	}
}

// TestNoListWithoutAllOfTheLine: nobody can tell who was in the line when the sale has opened.
func TestNoListWithoutAllOfTheLine(t *testing.T) {
	t.Parallel()
	for _, remembers := range []bool{true, false} {
		r := closed(t)
		r.pass(32 * time.Second)
		r.forgets()
		if !remembers {
			for i := range r.servers {
				clear(r.servers[i].lists)
			}
		}
		r.pass(time.Minute)
		d, err := r.servers[0].Draw(t.Context(), zoneID, "noon")
		if err != nil || d.Seed == "" || (d.Tickets == 40) != remembers || (d.ListHash != "") != remembers {
			t.Errorf("remembered %t: %+v, %v", remembers, d, err)
		}
	}
}

// TestTwoServersMakeTheListAtOnce: somebody leaves between the two, and both have the one that was written first.
func TestTwoServersMakeTheListAtOnce(t *testing.T) {
	t.Parallel()
	r := closed(t)
	r.Forward(4 * time.Second)
	slow := r.servers[1]
	slow.way.beforeList = func() { // which has read the line
		if err := slow.Zones.Known(zoneID).Leave(t.Context(), r.places["v7"]); err != nil {
			t.Error(err)
		}
		r.servers[0].RunOnce(t.Context())
	}
	slow.RunOnce(t.Context())
	one, other := r.servers[0].published(t), slow.published(t)
	if len(one) != 39*ticketBytes || !bytes.Equal(one, other) {
		t.Errorf("%d and %d bytes", len(one), len(other))
	}
}

// TestListHasAllOfTheLine: however many are read of it at a time, and if a call fails. The list of nobody is one, too.
func TestListHasAllOfTheLine(t *testing.T) {
	t.Parallel()
	for _, n := range []int{40, 0} {
		r := newRoom(t, event.Event{Order: event.OrderDraw}, gathers, opens)
		calls := 0
		for i := range r.servers { // few visitors at a time, and now and then none
			r.servers[i].way.read = func(_ context.Context, drawn func() ([]line.Place, error)) ([]line.Place, error) {
				if calls++; calls%15 == 2 {
					return nil, line.ErrStoreUnavailable
				}
				all, err := drawn()
				return all[:min(7, len(all))], err
			}
		}
		r.pass(gathers + time.Second)
		r.join(n)
		r.pass(100 * time.Second)
		for _, s := range r.servers {
			if d, err := s.Draw(t.Context(), zoneID, "noon"); err != nil || d.Tickets != n || d.ListHash == "" {
				t.Errorf("of %d: %+v, %v", n, d, err)
			}
		}
	}
}

// TestNothingWaitsForAList: neither this zone's opening nor another one's; and it ends with the server.
func TestNothingWaitsForAList(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			r := closed(t)
			other := zone.Defaults("OTHER")
			other.Events = []event.Event{{Name: "late", OpensAt: r.Now().Add(10 * time.Second).Format(time.RFC3339)}}
			if _, err := r.store.PutZone(ctx, other, nil, audit.By{Name: "test"}); err != nil {
				t.Fatal(err)
			}
			for _, s := range r.servers {
				s.Zones.RunOnce(ctx)
			}
			release := make(chan struct{})
			s := r.servers[0]
			s.way.read = func(ctx context.Context, drawn func() ([]line.Place, error)) ([]line.Place, error) {
				select {
				case <-release:
					return drawn()
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			s.Start(ctx)
			r.Forward(3 * time.Second) // the draw has closed
			<-time.After(time.Second)
			r.Forward(10 * time.Second)
			<-time.After(time.Second)
			z, err := r.store.Zone(ctx, "OTHER")
			if err != nil || z.EventState.Now == nil || z.EventState.Now.Phase != event.PhaseOpen {
				t.Errorf("while a list is read, the other zone is %+v, %v", z.EventState.Now, err)
			}
			if released {
				close(release)
				<-time.After(time.Second)
			} else {
				r.Forward(30 * time.Second)
				<-time.After(time.Second)
				if z, err = r.store.Zone(ctx, zoneID); err != nil || z.EventState.Now.Phase != event.PhaseOpen {
					t.Errorf("while its list is read, the zone is %+v, %v", z.EventState.Now, err)
				}
			}
			s.Stop()
			if list := s.published(t); (len(list) == 40*ticketBytes) != released {
				t.Errorf("released %t: %d bytes", released, len(list))
			}
		})
	}
}
