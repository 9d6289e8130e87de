package zones_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const zoneID = "TEST_ZONE"

// room is a zone over a store that answers what it is told to, with a guard against polls before their time.
type room struct {
	t     testing.TB
	guard *guard.Guard
	store *scripted
	lines *zones.Zones
	clock *parts.Clock
	limit *limiter.Limiter
}

func newRoom(t testing.TB, policies ...limit.Policy) *room {
	t.Helper()
	r := &room{t: t, store: newStore(), clock: parts.NewClock()}
	r.limit = limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{Now: r.clock.Now}), Now: r.clock.Now})
	r.use(policies...)
	r.guard = guard.New(guard.Options{Limiter: r.limit})
	r.lines = zones.New(zones.Options{Store: r.store, AnswerEarly: true, Guard: r.guard, Now: r.clock.Now})
	r.lines.RunOnce(t.Context())
	t.Cleanup(r.lines.Stop)
	return r
}

func (r *room) Join(ctx context.Context, id line.ID) (line.Told, error) {
	return r.lines.Join(ctx, zoneID, id)
}
func (r *room) Poll(ctx context.Context, p line.Place) (line.Told, error) {
	return r.lines.Poll(ctx, zoneID, p)
}
func (r *room) Leave(ctx context.Context, p line.Place) error { return r.lines.Leave(ctx, zoneID, p) }

// change has an operator change the zone.
func (r *room) change(do func(*zone.Settings)) {
	r.t.Helper()
	r.store.set(func(s *scripted) { do(&s.settings) })
	r.lines.RunOnce(r.t.Context())
}

func (r *room) use(policies ...limit.Policy) {
	var b limit.PolicySet
	for _, p := range policies {
		b = b.Put(p)
	}
	r.limit.Use(b)
}

// poll returns the answer, and whether the store was asked.
func (r *room) poll(p line.Place) (a line.Told, asked bool) {
	r.t.Helper()
	before := r.store.count()
	a, err := r.Poll(r.t.Context(), p)
	parts.Must(r.t, err)
	return a, r.store.count() > before
}

// passes and waits poll after a while, and say who must have answered.
func (r *room) passes(what string, after time.Duration, p line.Place) line.Told {
	r.t.Helper()
	r.clock.Forward(after)
	a, asked := r.poll(p)
	if !asked || a.Early {
		r.t.Errorf("%s: the store was not asked: %+v", what, a)
	}
	return a
}

func (r *room) early(what string, after time.Duration, p line.Place) line.Told {
	r.t.Helper()
	r.clock.Forward(after)
	a, asked := r.poll(p)
	if asked || !a.Early {
		r.t.Errorf("%s: the store was asked: %+v", what, a)
	}
	return a
}

// visitor is somebody far from the front.
func visitor(n byte) line.Place {
	return line.Place{ID: line.ID{n, 1, 2, 3, 4, 5, 6, n}, ArrivedAtMicros: 1_795_223_300_000_000 + int64(n)}
}

// scripted is a store that says to everybody what it is told to.
type scripted struct {
	store.Store

	mu       sync.Mutex
	asked    int
	shown    line.Place // by the last poll
	says     line.Answer
	err      error
	settings zone.Settings
	gone     bool
	// hold, when not nil, keeps calls until it is closed.
	hold chan struct{}
	left int
}

func newStore() *scripted {
	return &scripted{
		says: line.Answer{
			Position: 100, WaitMillis: 60_000, PeriodMillis: 10_000,
			State: line.State{NowMillis: 1_795_223_373_000, EdgeMicros: 1_795_223_200_000_000, Waiting: 500},
		},
		settings: zone.Defaults(zoneID),
	}
}

func (s *scripted) set(change func(*scripted)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *scripted) Poll(_ context.Context, _ string, p line.Place) (line.Answer, error) {
	s.mu.Lock()
	s.asked++
	s.shown = p
	a, err, hold := s.says, s.err, s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	a.Place = p
	return a, err
}

func (s *scripted) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	return s.Poll(ctx, zoneID, line.Place{ID: id, ArrivedAtMicros: 1_795_223_373_000_000})
}

func (s *scripted) Leave(context.Context, string, line.Place) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
	return s.err
}

func (s *scripted) Zones(context.Context) ([]zone.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, nil
	}
	return []zone.Settings{s.settings}, nil
}

func (s *scripted) Zone(context.Context, string) (zone.Settings, error) {
	return zone.Settings{}, line.ErrZoneDeleted
}
