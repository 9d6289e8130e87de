package zones

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

const testZone = "TEST_ZONE"

// wire is one server's way to an embedded store that several share.
type wire struct {
	*embedded.Store
	// down: no call gets through. deaf: calls are worked on, and their answers lost. fails is what both end with.
	down, deaf atomic.Bool
	fails      error
	// hangs: no call ends before its context does.
	hangs atomic.Bool
	// visits counts the calls of visitors, lost ones included. wrote hears what the store answered.
	visits atomic.Int64
	wrote  func(line.Told)
}

// through makes a call over the wire.
func through[T any](ctx context.Context, w *wire, call func() (T, error)) (answer T, err error) {
	if w.hangs.Load() {
		<-ctx.Done()
		return answer, ctx.Err()
	}
	if w.down.Load() {
		return answer, w.fails
	}
	is, err := call()
	if w.deaf.Load() {
		return answer, w.fails
	}
	return is, err
}

func (w *wire) visit(ctx context.Context, call func() (line.Answer, error)) (line.Answer, error) {
	w.visits.Add(1)
	return through(ctx, w, func() (line.Answer, error) {
		a, err := call()
		if err == nil && w.wrote != nil {
			w.wrote(line.Told{Answer: a})
		}
		a.Renew()
		return a, err
	})
}

func (w *wire) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	return w.visit(ctx, func() (line.Answer, error) { return w.Store.Join(ctx, zoneID, id) })
}

func (w *wire) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	return w.visit(ctx, func() (line.Answer, error) { return w.Store.Poll(ctx, zoneID, p) })
}

func (w *wire) Leave(ctx context.Context, zoneID string, p line.Place) error {
	_, err := through(ctx, w, func() (none, error) { return none{}, w.Store.Leave(ctx, zoneID, p) })
	return err
}

func (w *wire) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	return through(ctx, w, func() (line.Observation, error) { return w.Store.Observe(ctx, zoneID, most) })
}

func (w *wire) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return through(ctx, w, func() (zone.Settings, error) { return w.Store.Zone(ctx, zoneID) })
}

func (w *wire) Zones(ctx context.Context) ([]zone.Settings, error) {
	return through(ctx, w, func() ([]zone.Settings, error) { return w.Store.Zones(ctx) })
}

func (w *wire) Report(ctx context.Context, zoneID string, t line.SessionReport) (line.SessionReply, error) {
	return through(ctx, w, func() (line.SessionReply, error) { return w.Store.Report(ctx, zoneID, t) })
}

func (w *wire) PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by audit.By) (bool, error) {
	return through(ctx, w, func() (bool, error) { return w.Store.PutZone(ctx, s, was, by) })
}

func (w *wire) Recall(ctx context.Context, zoneID string, departed []line.Departure) error {
	_, err := through(ctx, w, func() (none, error) { return none{}, w.Store.Recall(ctx, zoneID, departed) })
	return err
}

// outageMeter counts what local admission tells.
type outageMeter struct {
	noMeter
	failing atomic.Bool
	local   atomic.Int64
}

func (m *outageMeter) StoreFailing(_ string, failing bool) { m.failing.Store(failing) }
func (m *outageMeter) Count(_ string, what Counted) {
	if what == AdmittedLocally {
		m.local.Add(1)
	}
}

// server is one of those that share a store.
type server struct {
	*Zones
	wire  *wire
	meter *outageMeter
}

// phase is how far the outage of the zone has come.
func (s *server) phase() phase { return s.Known(testZone).outage.phase }

// room is some servers, their store, and the clock of all of them.
type room struct {
	t       testing.TB
	clock   *parts.Clock
	store   *embedded.Store
	servers []*server
	ids     uint64
}

// newRoom makes a zone, and servers that have heard of it but had no visitor.
func newRoom(t testing.TB, servers int, s zone.Settings) *room {
	t.Helper()
	r := &room{t: t, clock: parts.NewClock()}
	r.store = parts.OpenStore(t, r.clock.Now, nil).Store
	_, err := r.store.PutZone(t.Context(), s, nil, audit.By{})
	parts.Must(t, err)
	for range servers {
		w := &wire{Store: r.store, fails: fmt.Errorf("wire: %w", line.ErrStoreUnavailable)}
		m := &outageMeter{}
		one := &server{New(Options{Store: w, Meter: m, Servers: int64(servers), Now: r.clock.Now}), w, m}
		one.RunOnce(t.Context())
		r.servers = append(r.servers, one)
	}
	return r
}

// admitting are settings with the policy admit.
func admitting(perMinute int64) zone.Settings {
	s := zone.Defaults(testZone)
	s.PerMinute, s.OnStoreFailure = perMinute, zone.FailureAdmit
	return s
}

// newID returns an id that nobody has.
func (r *room) newID() (id line.ID) {
	r.ids++
	binary.BigEndian.PutUint64(id[:], r.ids*0x9e3779b97f4a7c15)
	return id
}

// cut takes the store away from all servers, or gives it back. What a server hears every second of every zone, it has
// heard just before.
func (r *room) cut(down bool) {
	for _, s := range r.servers {
		if _, err := s.Observe(r.t.Context(), testZone); err != nil && !errors.Is(err, s.wire.fails) {
			r.t.Error(err)
		}
		s.wire.down.Store(down)
	}
}

// probeOnce probes the zones that need it, one after the other.
func (r *Zones) probeOnce(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.outage.inPhase(failing, away) {
			r.probe(ctx, z)
		}
	}
}

// pass lets time pass, with the probes that go on in it.
func (r *room) pass(d time.Duration) {
	for d > 0 {
		step := min(d, ProbeEvery)
		r.clock.Forward(step)
		d -= step
		for _, s := range r.servers {
			s.probeOnce(r.t.Context())
			s.RunOnce(r.t.Context())
		}
	}
}

// join has n newcomers join through s, who must all get a place or enter, and returns the places of those who wait.
func (r *room) join(s *server, n int) []line.Place {
	r.t.Helper()
	var places []line.Place
	for range n {
		a, err := s.Join(r.t.Context(), testZone, r.newID())
		if err != nil {
			r.t.Fatalf("join: %v", err)
		}
		if a.Status == line.Waiting {
			places = append(places, a.Place)
		}
	}
	return places
}

// outcome is what a call came to, in a word.
func outcome(a line.Told, err error) string {
	switch {
	case errors.Is(err, line.ErrStoreUnavailable):
		return "held"
	case err != nil:
		return err.Error()
	case a.Local:
		return a.Status.String() + " locally"
	}
	return a.Status.String()
}

// poll polls through s and wants an outcome.
func (r *room) poll(s *server, p line.Place, want string) line.Told {
	r.t.Helper()
	a, err := s.Poll(r.t.Context(), testZone, p)
	if got := outcome(a, err); got != want {
		r.t.Errorf("poll: %s, want %s", got, want)
	}
	return a
}

// joinAs joins under an id through s and wants an outcome.
func (r *room) joinAs(s *server, id line.ID, want string) line.Told {
	r.t.Helper()
	a, err := s.Join(r.t.Context(), testZone, id)
	if got := outcome(a, err); got != want {
		r.t.Errorf("join: %s, want %s", got, want)
	}
	return a
}

// toAway takes the store away for so long that from now on the share may be admitted.
func (r *room) toAway(s *server, p line.Place) {
	r.t.Helper()
	r.cut(true)
	r.poll(s, p, "held")
	r.pass(AwayAfter + time.Duration(pauseMillis(*s.Settings(testZone)))*time.Millisecond + ProbeEvery)
}
