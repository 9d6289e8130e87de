package schedule

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/zone"
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

// stuck does not read the line until it is released.
type stuck struct {
	*registry.Registry
	release chan struct{}
}

func (s stuck) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	select {
	case <-s.release:
		return s.Registry.Drawn(ctx, zoneID, after, fromMicros, uptoMicros)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestNoStepWaitsForAList: another zone opens in time while a list is read; and it ends with the server.
func TestNoStepWaitsForAList(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
			other := zone.Defaults("OTHER")
			other.Events = []event.Event{{Name: "late", OpensAt: r.at.Add(100 * time.Second).Format(time.RFC3339)}}
			if _, err := r.store.PutZone(ctx, other, nil, "test"); err != nil {
				t.Fatal(err)
			}
			for _, s := range r.servers {
				s.zones.RunOnce(ctx)
			}
			r.pass(11 * time.Second)
			r.join(40)
			r.pass(78 * time.Second)
			release := make(chan struct{})
			s := r.servers[0]
			s.Zones = stuck{s.zones, release}
			s.Start(ctx)
			r.later(3 * time.Second) // the draw has closed
			<-time.After(time.Second)
			r.later(10 * time.Second)
			<-time.After(time.Second)
			z, err := r.store.Zone(ctx, "OTHER")
			if err != nil || z.EventState.Now == nil || z.EventState.Now.Phase != event.PhaseOpen {
				t.Errorf("while a list is read, the other zone is %+v, %v", z.EventState.Now, err)
			}
			if released {
				close(release)
				<-time.After(time.Second)
			}
			s.Stop()
			if d, err := r.servers[1].Draw(ctx, zoneID, "noon"); err != nil || (d.Tickets == 40) != released || d.Seed != "" {
				t.Errorf("released %t: %+v, %v", released, d, err)
			}
		})
	}
}

// failing answers every second time only, and counts how often the line is read from its beginning.
type failing struct {
	brief
	calls, begun *int
}

func (f failing) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	if *f.calls++; *f.calls%2 == 0 {
		return nil, line.ErrStoreUnavailable
	}
	if after.ID == (line.ID{}) {
		*f.begun++
	}
	return f.brief.Drawn(ctx, zoneID, after, fromMicros, uptoMicros)
}

// TestListGoesOnWhereItFailed, and has everybody once.
func TestListGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	calls, begun := 0, 0
	for i := range r.servers {
		r.servers[i].Zones = failing{brief{r.servers[i].zones}, &calls, &begun}
	}
	r.pass(11 * time.Second)
	r.join(40)
	r.pass(100 * time.Second)
	p, err := r.servers[1].Part(t.Context(), zoneID, "noon", "1")
	slices.Sort(p.Tickets)
	if err != nil || begun != 1 || len(slices.Compact(p.Tickets)) != 40 {
		t.Errorf("begun %d times, %d tickets, %v", begun, len(p.Tickets), err)
	}
}

// TestTurns: a list of more parts than one go writes is written, read by the other server and restored whole.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testTurns)
}

func testTurns(t *testing.T) {
	ctx := t.Context()
	r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
	r.pass(11 * time.Second)
	z, err := r.store.Zone(ctx, zoneID)
	if err != nil {
		t.Fatal(err)
	}
	d := *z.EventState.Draw()
	tickets := make([]byte, 2*aTurn*partBytes+partBytes/2)
	for i := range tickets {
		tickets[i] = byte(i * 7 >> (i % 13))
	}
	for i, s := range r.servers {
		l := s.list(d.Nonce)
		if i == 0 {
			l.work = &work{head: head{Draw: d, By: s.writer}, tickets: tickets, whole: true}
		}
		goes, more := 0, true
		for ; more; goes++ {
			if i == 0 {
				more, err = s.write(ctx, zoneID, l, 1)
			} else {
				var h *head
				if h, err = s.readHead(ctx, zoneID, d.Event); err == nil {
					more, err = s.remember(ctx, zoneID, l, h)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if goes != 3 || !slices.Equal(l.tickets, tickets) || l.head == nil || l.head.Parts != 2*aTurn+1 || l.work != nil {
			t.Errorf("server %d, in %d goes: %d bytes, %+v", i, goes, len(l.tickets), l.head)
		}
	}
}

// uneven reads the lines of zones one visitor at a time, slowly those whose name begins with S, and never of those with H, which
// hang. It notes when the list of a zone is there.
type uneven struct {
	*registry.Registry
	there map[string]time.Time
}

func (u uneven) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	if zoneID[0] == 'H' {
		<-time.After(400 * time.Millisecond)
		return line.Stats{}, line.ErrStoreUnavailable
	}
	return u.Registry.Stats(ctx, zoneID)
}

func (u uneven) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	if zoneID[0] == 'S' {
		<-time.After(300 * time.Millisecond)
	}
	all, err := u.Registry.Drawn(ctx, zoneID, after, fromMicros, uptoMicros)
	return all[:min(1, len(all))], err
}

func (u uneven) KeepDraw(ctx context.Context, zoneID, event string, part int, text []byte) error {
	if part > 0 {
		u.there[zoneID] = time.Now()
	}
	return u.Registry.KeepDraw(ctx, zoneID, event, part, text)
}

// TestNoListWaitsForAnotherZone: the nodes of some zones hang, or are slow. A list of 20 turns in another zone is there long before
// the opening; and that of the slow one in time.
func TestNoListWaitsForAnotherZone(t *testing.T) {
	t.Parallel()
	for _, others := range [][]string{{"H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8"}, {"S1"}} {
		t.Run(others[0], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				r := newRoom(t, event.Event{Order: event.OrderDraw}, 10*time.Second, 2*time.Minute)
				z, err := r.store.Zone(ctx, zoneID)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range others {
					z.ZoneID = name
					if _, err := r.store.PutZone(ctx, z, nil, "test"); err != nil {
						t.Fatal(err)
					}
				}
				s := r.servers[0]
				s.zones.RunOnce(ctx)
				r.pass(11 * time.Second)
				r.join(20 * aTurn)
				for i := range 2 * aTurn {
					if _, err := s.zones.Join(ctx, others[0], line.ID{1, byte(i)}); err != nil {
						t.Fatal(err)
					}
				}
				r.later(82 * time.Second)
				u := uneven{s.zones, make(map[string]time.Time)}
				s.Zones = u
				began := time.Now()
				s.publishAll(ctx)
				if took := u.there[zoneID].Sub(began); took < 0 || took > 10*time.Second {
					t.Errorf("beside %v the list takes %v", others, took)
				}
				if took := u.there["S1"].Sub(began); others[0] == "S1" && (took < 0 || took > 28*time.Second) {
					t.Errorf("that of the slow zone takes %v", took)
				}
			})
		})
	}
}
