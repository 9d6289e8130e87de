package fallback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Within is how long a visitor's call may wait for the store: the 500 ms of the contract, less what HTTP takes on
	// a busy server. It also bounds the wait for a place in a batch, which the stores' own time limits do not.
	Within = 400 * time.Millisecond
	// AwayAfter is how long calls must have failed, with no success between them, before this server admits by itself.
	// It is longer than Apart, so that the store is gone for every server when the first begins. And it is so long
	// that a fail-over of up to 5 s, at the default window, lets nobody in and is followed by no pause.
	AwayAfter = 3 * time.Second
	// Apart is how much earlier than another one server may notice that the store is away, or back: a probe's period
	// and time limit, and some reserve.
	Apart = time.Second
	// Stale is how old the latest failure may be for a server to believe that the store is still away: as with Apart,
	// a probe's period and time limit, and some reserve.
	Stale = time.Second
)

// errHeld: the visitor is held without an answer of the store.
var errHeld = fmt.Errorf("fallback: held: %w", line.ErrStoreUnavailable)

// Lines is the next link of the chain: the registry.
type Lines interface {
	store.Lines
	Memory
}

// Memory is what is known without asking the store. It also keeps what the store has to learn.
type Memory interface {
	// Remembered returns a zone's settings without asking the store, if they
	// are known.
	Remembered(zoneID string) (zone.Settings, bool)
	// Memory returns what is known of a zone's line without asking the store: the zero value if nothing is.
	Memory(zoneID string) line.Memory
	// Departed returns how a place ended, if this server saw that lately. A place without an arrival stands for any
	// place of its visitor.
	Departed(zoneID string, p line.Place) (line.Departure, bool)
	// Expect returns about how long a visitor at the place would still wait, in milliseconds, if the store were back
	// at nowMillis on the zone's clock. heard is false if nothing was ever heard of the line.
	Expect(zoneID string, p line.Place, nowMillis int64) (millis int64, heard bool)
	// Depart takes in that a visitor was admitted without the store. The store is told when it is back.
	Depart(zoneID string, d line.Departure)
}

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// StoreFailing says whether the latest call to the zone's store failed.
	StoreFailing(zoneID string, failing bool)
	// AdmitLocally counts one visitor whom this server let in by itself.
	AdmitLocally(zoneID string)
}

// Options of a Policy. Lines and Meter are required.
type Options struct {
	Lines Lines
	Meter Meter
	// Servers is how many servers share the store at most, this one included. The limits are divided by it. A value
	// below 1 counts as 1.
	Servers int64
	// Within bounds a visitor's call. 0 sets no bound: right for a store in this process, whose calls do not wait.
	Within time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Policy passes calls on to Lines, and answers them by each zone's onStoreFailure when
// they fail. It is the second link of the chain. Its methods may be called from any number
// of goroutines.
type Policy struct {
	store.Viewer // calls that only look are passed on as they are; but see Zone

	lines   Lines
	meter   Meter
	servers int64
	limits  deadlines
	log     *slog.Logger
	clock   clock

	// breakers is replaced, never changed, so that a poll reads it without a
	// lock; mu guards its replacement.
	breakers atomic.Pointer[map[string]*breaker]
	mu       sync.Mutex
	// turned, guarded by mu, counts the refused in zones without a breaker.
	turned turned

	probes background.Group

	// answered and unanswered are visitors' calls since Overloaded was last asked.
	answered, unanswered atomic.Int64
}

// mostUnanswered: a store that leaves more than one mostUnanswered-th of the visitors' calls unanswered is overloaded.
const mostUnanswered = 10

// Overloaded reports whether, since it was last asked, the store left more than a tenth of the
// visitors' calls unanswered.
func (p *Policy) Overloaded() bool {
	answered, unanswered := p.answered.Swap(0), p.unanswered.Swap(0)
	return mostUnanswered*unanswered > answered+unanswered
}

// New returns a Policy. Call Start before use and Stop after.
func New(o Options) *Policy {
	p := &Policy{
		Viewer: o.Lines, lines: o.Lines, meter: o.Meter, servers: max(1, o.Servers),
		limits: deadlines{within: o.Within}, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), clock: newClock(o.Now),
	}
	p.breakers.Store(&map[string]*breaker{})
	return p
}

// Admits returns how many zones this server admits to while the store is away.
func (p *Policy) Admits(ctx context.Context) int {
	zones, err := p.lines.Zones(ctx)
	if err != nil {
		return 0 // no list was ever read: all zones are held
	}
	n := 0
	for _, z := range zones {
		if admits(z, p.servers) {
			n++
		}
	}
	return n
}

// visitor is the visitor whom a call is about.
type visitor struct {
	// place is that of the token. A newcomer has only the id yet.
	place line.Place
	// former ids are further ones under which a newcomer may be known.
	former   []line.ID
	newcomer bool
}

// ids returns the id of the place, then the former ones.
func (v *visitor) ids() []line.ID { return append([]line.ID{v.place.ID}, v.former...) }

// Zone implements store.Viewer. A visitor who joins waits for it, so it has the deadline of a visitor's call.
func (p *Policy) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	s, err := p.lines.Zone(p.limits.bound(ctx), zoneID)
	if unanswered(ctx, err) {
		return s, p.later(zoneID, visitor{newcomer: true}, unavailable(err))
	}
	return s, err
}

// Join implements store.Visitors; while the store is away, it lets in or refuses. A newcomer whom it lets in gets an
// arrival that the store gave out before: a later one would have the store believe that it lost data.
func (p *Policy) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	return p.ask(ctx, zoneID, visitor{place: line.Place{ID: id}, former: former, newcomer: true})
}

// Poll implements store.Visitors; while the store is away, it lets in or refuses.
func (p *Policy) Poll(ctx context.Context, zoneID string, place line.Place) (line.Answer, error) {
	return p.ask(ctx, zoneID, visitor{place: place})
}

// Leave implements store.Visitors. While the store is away it fails: only the store can do it.
func (p *Policy) Leave(ctx context.Context, zoneID string, place line.Place) error {
	err := p.lines.Leave(p.limits.bound(ctx), zoneID, place)
	if unanswered(ctx, err) {
		return p.later(zoneID, visitor{place: place}, unavailable(err))
	}
	return err
}

// ask answers a visitor, with the store or without. The error of a refusal says when to come back.
func (p *Policy) ask(ctx context.Context, zoneID string, v visitor) (line.Answer, error) {
	a, err := p.try(ctx, zoneID, v)
	if errors.Is(err, line.ErrStoreUnavailable) {
		err = p.later(zoneID, v, err)
	}
	return a, err
}

func (p *Policy) try(ctx context.Context, zoneID string, v visitor) (a line.Answer, err error) {
	b := p.breaker(zoneID)
	if b != nil && b.troubled.Load() {
		if a, handled, err := b.handle(v); handled {
			return a, err
		}
	}
	began, bounded := p.clock.millis(), p.limits.bound(ctx)
	if v.newcomer {
		a, err = p.lines.Join(bounded, zoneID, v.place.ID, v.former...)
	} else {
		a, err = p.lines.Poll(bounded, zoneID, v.place)
	}
	switch {
	case err == nil:
		p.answered.Add(1)
		if b == nil {
			b = p.newBreaker(zoneID)
		}
		if !a.Remembered {
			b.succeeded(a.State)
		}
		return a, nil
	case unanswered(ctx, err):
		p.unanswered.Add(1)
		return p.fail(zoneID, v, began, err)
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		p.forget(zoneID)
	}
	return a, err
}

// fail answers a visitor whose call the store did not answer.
func (p *Policy) fail(zoneID string, v visitor, began int64, err error) (line.Answer, error) {
	b := p.breaker(zoneID)
	if b == nil {
		if _, ok := p.lines.Remembered(zoneID); !ok {
			return line.Answer{}, unavailable(err)
		}
		b = p.newBreaker(zoneID)
	}
	if a, handled, err := b.failed(v, began); handled {
		return a, err
	}
	return line.Answer{}, unavailable(err)
}

// unanswered reports whether err says that the store did not answer. It is false if the caller, whose context is ctx,
// gave up.
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

// breaker returns the breaker of a zone, or nil.
func (p *Policy) breaker(zoneID string) *breaker { return (*p.breakers.Load())[zoneID] }

// newBreaker returns the breaker of a zone that exists.
func (p *Policy) newBreaker(zoneID string) *breaker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.breaker(zoneID); b != nil {
		return b
	}
	b := &breaker{policy: p, zoneID: zoneID}
	breakers := maps.Clone(*p.breakers.Load())
	breakers[zoneID] = b
	p.breakers.Store(&breakers)
	return b
}

// forget drops a zone that does not exist (any more).
func (p *Policy) forget(zoneID string) {
	if p.breaker(zoneID) == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	breakers := maps.Clone(*p.breakers.Load())
	delete(breakers, zoneID)
	p.breakers.Store(&breakers)
}

// clock counts milliseconds on the monotonic clock.
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

// millis returns the time in Unix milliseconds that the wall clock would show if nobody had set it since this process
// began.
func (c clock) millis() int64 { return c.epoch.UnixMilli() + c.now().Sub(c.epoch).Milliseconds() }
