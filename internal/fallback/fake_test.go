package fallback

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testZone = "TEST_ZONE"

// testClock is moved by hand.
type testClock struct{ micros atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.micros.Store(1_800_000_000_000_000)
	return c
}

func (c *testClock) now() time.Time { return time.UnixMicro(c.micros.Load()) }

func (c *testClock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// link is one server's way to a store that several may share.
type link struct {
	store *embedded.Store
	// down: no call gets through. fails is what they end with.
	down  atomic.Bool
	fails error
	// visits counts calls of visitors, lost ones included.
	visits atomic.Int64
	// remembered is what this server knows of the zone without the store.
	mu         sync.Mutex
	remembered *zone.Settings
	memory     line.Memory
	waiting    int64
	departed   map[line.ID]line.Departure
	untold     []line.Departure
}

// heard remembers an answer, as the registry does.
func (l *link) heard(a line.Answer, err error) (line.Answer, error) {
	if err != nil {
		return a, err
	}
	l.learn(a.State)
	switch a.Status {
	case line.Admitted, line.AdmittedBefore:
		l.depart(line.Departure{Place: a.Place, AdmittedAtMillis: a.AdmittedAtMillis})
	default:
	}
	a.Renew()
	return a, nil
}

func (l *link) learn(s line.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = s.Waiting
	l.memory = line.Memory{
		Epoch: s.Epoch, SeenAtMillis: s.NowMillis + 1000, EdgeMicros: s.EdgeMicros, LastArrivalMicros: s.LastArrivalMicros,
	}
}

func (l *link) depart(d line.Departure) line.Departure {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.departed == nil {
		l.departed = make(map[line.ID]line.Departure)
	}
	d.Place.ArrivedAtMicros, d.Place.Epoch = max(d.Place.ArrivedAtMicros, l.memory.LastArrivalMicros), l.memory.Epoch
	l.departed[d.Place.ID] = d
	return d
}

func (l *link) Memory(string) line.Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory
}

// Expect goes by the arrivals, which tests have come evenly.
func (l *link) Expect(_ string, p line.Place, _ int64) (millis int64, heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 || l.remembered == nil {
		return 0, false
	}
	share := float64(p.ArrivedAtMicros-l.memory.EdgeMicros) / float64(max(1, l.memory.LastArrivalMicros-l.memory.EdgeMicros))
	ahead := int64(min(max(0, share), 1) * float64(l.waiting))
	return ahead * window.MinuteMillis / max(1, l.remembered.PerMinute), true
}

func (l *link) Departed(_ string, p line.Place) (line.Departure, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.departed[p.ID]
	return d, ok && p.ArrivedAtMicros <= d.Place.ArrivedAtMicros
}

func (l *link) Depart(_ string, d line.Departure) {
	d = l.depart(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.untold = append(l.untold, d)
}

// tell has the store take in who was admitted without it, if it is there.
func (l *link) tell(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.untold) == 0 || l.cut() != nil {
		return nil
	}
	told := l.untold
	l.untold = nil
	return l.store.Recall(ctx, testZone, told)
}

func (l *link) cut() error {
	if l.down.Load() {
		return l.fails
	}
	return nil
}

func (l *link) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	l.visits.Add(1)
	if err := l.cut(); err != nil {
		return line.Answer{}, err
	}
	return l.heard(l.store.Join(ctx, zoneID, id, former...))
}

func (l *link) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	l.visits.Add(1)
	if err := l.cut(); err != nil {
		return line.Answer{}, err
	}
	return l.heard(l.store.Poll(ctx, zoneID, p))
}

func (l *link) Leave(ctx context.Context, zoneID string, p line.Place) error {
	if err := l.cut(); err != nil {
		return err
	}
	if err := l.store.Leave(ctx, zoneID, p); err != nil {
		return err
	}
	l.depart(line.Departure{Place: p})
	return nil
}

func (l *link) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	if err := l.cut(); err != nil {
		return line.Stats{}, err
	}
	s, err := l.store.Stats(ctx, zoneID)
	if err == nil {
		l.learn(s.State)
	}
	return s, err
}

func (l *link) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return l.store.Zone(ctx, zoneID)
}

func (l *link) Zones(context.Context) ([]zone.Settings, error) {
	if s, ok := l.Remembered(testZone); ok {
		return []zone.Settings{s}, nil
	}
	return nil, l.cut()
}

func (l *link) Remembered(zoneID string) (zone.Settings, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.remembered == nil || l.remembered.ZoneID != zoneID {
		return zone.Settings{}, false
	}
	return *l.remembered, true
}

func (l *link) remember(s *zone.Settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remembered = s
}

// meter counts.
type meter struct {
	failing atomic.Bool
	local   atomic.Int64
}

func (m *meter) StoreFailing(_ string, failing bool) { m.failing.Store(failing) }
func (m *meter) AdmitLocally(string)                 { m.local.Add(1) }

// server is one of those that share a store.
type server struct {
	*Policy
	link  *link
	meter *meter
}

// room is some servers, their store, and the clock of all of them.
type room struct {
	t       testing.TB
	clock   *testClock
	store   *embedded.Store
	servers []*server
	ids     uint64
}

// newRoom makes a zone, and servers that have heard of it but had no visitor.
func newRoom(t testing.TB, servers int, s zone.Settings) *room {
	t.Helper()
	r := &room{t: t, clock: newTestClock()}
	store, err := embedded.Open(embedded.Options{Now: r.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r.store = store
	if _, err := store.PutZone(t.Context(), s, nil, ""); err != nil {
		t.Fatal(err)
	}
	for range servers {
		l := &link{store: store, fails: fmt.Errorf("link: %w", line.ErrStoreUnavailable)}
		l.remember(&s)
		m := &meter{}
		r.servers = append(r.servers, &server{
			Policy: New(Options{Lines: l, Meter: m, Servers: int64(servers), Now: r.clock.now}), link: l, meter: m,
		})
	}
	return r
}

// admitting are settings with the policy admit.
func admitting(perMinute int64) zone.Settings {
	s := zone.Defaults(testZone)
	s.PerMinute, s.OnStoreFailure = perMinute, zone.FailureAdmit
	return s
}

// uneven is such a zone, of which all of a window may enter at once.
func uneven(perMinute int64) zone.Settings {
	s := admitting(perMinute)
	s.MaxPerSecond = zone.PerSecondNone
	return s
}

// newID returns an id that nobody has.
func (r *room) newID() (id line.ID) {
	r.ids++
	binary.BigEndian.PutUint64(id[:], r.ids*0x9e3779b97f4a7c15)
	return id
}

// cut takes the store away from all servers, or gives it back. What a server hears
// every second of every zone, it has heard just before.
func (r *room) cut(down bool) {
	for _, s := range r.servers {
		if _, err := s.link.Stats(r.t.Context(), testZone); err != nil && !errors.Is(err, s.link.fails) {
			r.t.Error(err)
		}
		s.link.down.Store(down)
	}
}

// pass lets time pass, with the probes that go on in it.
func (r *room) pass(d time.Duration) {
	for d > 0 {
		step := min(d, ProbeEvery)
		r.clock.advance(step)
		d -= step
		for _, s := range r.servers {
			s.probeAll(r.t.Context())
			s.Stop() // waits for the probes
			if err := s.link.tell(r.t.Context()); err != nil && !errors.Is(err, line.ErrZoneDeleted) {
				r.t.Error(err)
			}
		}
	}
}

// join has n newcomers join through s, who must all get a place or enter, and
// returns the places of those who wait.
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
func outcome(a line.Answer, err error) string {
	switch {
	case errors.Is(err, line.ErrStoreUnavailable):
		return "held"
	case err != nil:
		return err.Error()
	}
	word := map[line.Status]string{
		line.Waiting: "waiting", line.Admitted: "admitted", line.AdmittedBefore: "before",
		line.Gone: "gone", line.Closed: "closed", line.Full: "full",
	}[a.Status]
	if a.Local {
		word += " locally"
	}
	return word
}

// poll polls through s and wants an outcome.
func (r *room) poll(s *server, p line.Place, want string) line.Answer {
	r.t.Helper()
	a, err := s.Poll(r.t.Context(), testZone, p)
	if got := outcome(a, err); got != want {
		r.t.Errorf("poll: %s, want %s", got, want)
	}
	return a
}

// toAway takes the store away for so long that the zone is away, and the lost
// admissions count no more: from now on the share may be admitted.
func (r *room) toAway(s *server, p line.Place) {
	r.t.Helper()
	r.cut(true)
	r.poll(s, p, "held")
	settings, _ := s.link.Remembered(testZone)
	r.pass(AwayAfter + settings.Window() + time.Millisecond)
}
