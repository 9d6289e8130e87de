package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Within is how long a visitor's call may wait for the store: the 500 ms of
	// the contract, less what HTTP takes on a busy server. It ends the wait for
	// a place in a call, too, on which the stores' own limits have no say.
	Within = 400 * time.Millisecond
	// AwayAfter is how long calls must have failed, with no success between
	// them, before this server admits by itself. Above Apart, so that the store
	// is gone for every server when the first begins; and so long that at the
	// default window nobody is let in, and no pause follows, if a fail-over
	// takes no more than 5 s.
	AwayAfter = 3 * time.Second
	// Apart is how much earlier one server may notice than another that the
	// store is away, or back: a probe's period and time limit, and some.
	Apart = time.Second
	// Stale is how old the latest failure may be for a server to believe that
	// the store is still away: also a probe's period and time limit, and some.
	Stale = time.Second
)

// errHeld: no call was made, or none that was answered.
var errHeld = fmt.Errorf("fallback: held: %w", line.ErrStoreUnavailable)

// Lines is what the rooms ask, and what this package asks for them.
type Lines interface {
	Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error)
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)
	Leave(ctx context.Context, zoneID string, p line.Place) error
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
	Zones(ctx context.Context) ([]zone.Settings, error)
	Memory
}

// Memory is what is known without the store, and takes in what it has to learn.
type Memory interface {
	// Remembered returns a zone's settings without asking the store, if they
	// are known.
	Remembered(zoneID string) (zone.Settings, bool)
	// Memory returns what is known of a zone's line without asking the store. The
	// zero value: nothing.
	Memory(zoneID string) line.Memory
	// Departed returns how a place ended, if this server saw that lately. A place
	// without an arrival is any of that visitor's.
	Departed(zoneID string, p line.Place) (line.Departure, bool)
	// Depart takes in that a visitor was admitted without the store, which is told
	// when it is back.
	Depart(zoneID string, d line.Departure)
}

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// StoreFailing says whether the latest call to the zone's store failed.
	StoreFailing(zoneID string, failing bool)
	// AdmitLocally counts one visitor whom this server let in by itself.
	AdmitLocally(zoneID string)
}

// Options of a Store. Lines and Meter are required.
type Options struct {
	Lines Lines
	Meter Meter
	// Servers is the most servers that share the store, this one included; the
	// limits are divided by it. 1 when less.
	Servers int64
	// Within bounds a visitor's call. 0 sets no bound: for a store that lies in
	// this process, whose calls do not wait.
	Within time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Store passes calls on to Lines, and answers them by each zone's policy when
// they fail. Its methods may be called from any number of goroutines.
type Store struct {
	lines   Lines
	meter   Meter
	servers int64
	limits  deadlines
	log     *slog.Logger
	clock   clock

	// guards is replaced, never changed, so that a poll reads it without a
	// lock; mu guards its replacement.
	guards atomic.Pointer[map[string]*guard]
	mu     sync.Mutex

	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a Store. Call Start before use and Stop after.
func New(o Options) *Store {
	s := &Store{
		lines: o.Lines, meter: o.Meter, servers: max(1, o.Servers), limits: deadlines{within: o.Within}, log: o.Logger,
		clock: newClock(o.Now),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.guards.Store(&map[string]*guard{})
	return s
}

// Admits returns how many zones this server admits to while the store is away.
func (s *Store) Admits(ctx context.Context) int {
	zones, err := s.lines.Zones(ctx)
	if err != nil {
		return 0 // never heard of: they are held
	}
	n := 0
	for _, z := range zones {
		if admits(z, s.servers) {
			n++
		}
	}
	return n
}

// visitor is one whom a call is about.
type visitor struct {
	// place is that of the token. A newcomer has only the id yet.
	place line.Place
	// former ids are further ones under which a newcomer may be known.
	former   []line.ID
	newcomer bool
}

// Join takes a place; while the store is away, it lets in or refuses. One who is
// let in then gets an arrival that the store gave out before: a later one would
// have the store believe that it lost data.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	v := visitor{place: line.Place{ID: id}, former: former, newcomer: true}
	return s.visit(ctx, zoneID, v, func(ctx context.Context) (line.Answer, error) {
		return s.lines.Join(ctx, zoneID, id, former...)
	})
}

// Poll asks for a place; while the store is away, it lets in or refuses.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	return s.visit(ctx, zoneID, visitor{place: p}, func(ctx context.Context) (line.Answer, error) {
		return s.lines.Poll(ctx, zoneID, p)
	})
}

// Leave gives a place up, which only the store can do.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	err := s.lines.Leave(s.limits.bound(ctx), zoneID, p)
	if unanswered(ctx, err) {
		return unavailable(err)
	}
	return err
}

// Stats describes a zone's line.
func (s *Store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	return s.lines.Stats(ctx, zoneID)
}

// Zone returns a zone's settings.
func (s *Store) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return s.lines.Zone(ctx, zoneID)
}

// visit answers a visitor: with the store, by call, or without.
func (s *Store) visit(
	ctx context.Context, zoneID string, v visitor, call func(context.Context) (line.Answer, error),
) (line.Answer, error) {
	g := s.guard(zoneID)
	if g != nil && g.troubled.Load() {
		if a, handled, err := g.handle(v); handled {
			return a, err
		}
	}
	began := s.clock.millis()
	a, err := call(s.limits.bound(ctx))
	switch {
	case err == nil:
		if g == nil {
			g = s.newGuard(zoneID)
		}
		g.succeeded(a.State)
		return a, nil
	case unanswered(ctx, err):
		return s.fail(zoneID, v, began, err)
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		s.forget(zoneID)
	}
	return a, err
}

// fail answers a visitor whose call the store did not answer.
func (s *Store) fail(zoneID string, v visitor, began int64, err error) (line.Answer, error) {
	g := s.guard(zoneID)
	if g == nil {
		if _, ok := s.lines.Remembered(zoneID); !ok {
			return line.Answer{}, unavailable(err)
		}
		g = s.newGuard(zoneID)
	}
	if a, handled, err := g.failed(v, began); handled {
		return a, err
	}
	return line.Answer{}, unavailable(err)
}

// unanswered reports whether err says that the store did not answer, rather
// than that the caller, whose context is ctx, did not wait.
func unanswered(ctx context.Context, err error) bool {
	return (errors.Is(err, line.ErrStoreUnavailable) || errors.Is(err, context.DeadlineExceeded)) && ctx.Err() == nil
}

// unavailable returns err as one that wraps line.ErrStoreUnavailable.
func unavailable(err error) error {
	if errors.Is(err, line.ErrStoreUnavailable) {
		return err
	}
	return fmt.Errorf("fallback: %w: %w", line.ErrStoreUnavailable, err)
}

// guard returns what is known of a zone's store, or nil.
func (s *Store) guard(zoneID string) *guard { return (*s.guards.Load())[zoneID] }

// newGuard returns the guard of a zone that exists.
func (s *Store) newGuard(zoneID string) *guard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.guard(zoneID); g != nil {
		return g
	}
	g := &guard{store: s, zoneID: zoneID}
	guards := maps.Clone(*s.guards.Load())
	guards[zoneID] = g
	s.guards.Store(&guards)
	return g
}

// forget drops a zone that does not exist (any more).
func (s *Store) forget(zoneID string) {
	if s.guard(zoneID) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	guards := maps.Clone(*s.guards.Load())
	delete(guards, zoneID)
	s.guards.Store(&guards)
}

// clock counts milliseconds that no change of the wall clock reaches.
type clock struct {
	now   func() time.Time
	epoch time.Time
}

func newClock(now func() time.Time) clock {
	if now == nil {
		now = time.Now
	}
	return clock{now: now, epoch: now()}
}

// millis is the time in Unix milliseconds, as the wall clock would have it, had
// nobody set it since this process began.
func (c clock) millis() int64 { return c.epoch.UnixMilli() + c.now().Sub(c.epoch).Milliseconds() }
