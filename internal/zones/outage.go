package zones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// Within is how long a visitor's call may wait for the store: the 500 ms of the contract, less what HTTP takes on
	// a busy server. It also bounds the wait for a place in a batch, which the stores' own time limits do not.
	Within = 400 * time.Millisecond
	// AwayAfter is how long calls must have failed, with no success between them, before this server admits by itself.
	// It is longer than Apart, so that the store is gone for every server when the first begins. And it is so long
	// that a fail-over of up to 5 s, at the default window, lets nobody in.
	AwayAfter = 3 * time.Second
	// Apart is how much earlier than another one server may notice that the store is away, or back: a probe's period
	// and time limit, and some reserve. So old, too, may the latest failure be for a server to believe that the store
	// is still away.
	Apart = time.Second
	// ProbeEvery is how often a store that is away is asked whether it is back. A server notices that at most
	// ProbeEvery plus Within late, which is less than Apart.
	ProbeEvery = 250 * time.Millisecond
)

// phase is how far an outage of a zone's store has come. See the drawing in doc.go.
type phase uint8

const (
	calm phase = iota
	failing
	away
	returning
)

// outage is the circuit breaker of one zone: it knows how the zone's store is doing. Times are in milliseconds on the
// server's clock.
type outage struct {
	// troubled: the phase is not calm, so a call has to look at what mu guards before it goes to the store.
	troubled atomic.Bool
	// probing: a probe is under way.
	probing atomic.Bool

	mu    sync.Mutex
	phase phase
	// failedAt is when the first call failed after the last success, lastFailed when the latest call did. calmAt is
	// when the phase returning ends.
	failedAt, lastFailed, calmAt int64
	// opensAt is when local admission begins, share what it may admit, and usedMillis how long that takes for all whom
	// it has admitted. refusedAt is when a token holder was last refused. See admit.
	opensAt, refusedAt int64
	share              *rate.Limiter
	usedMillis         float64
	refused            refusals
	// answered and unanswered are visitors' calls since Overloaded was last asked.
	answered, unanswered atomic.Int64
}

// visitor is the visitor whom a call is about.
type visitor struct {
	// place is that of the token. A newcomer has only the id yet.
	place    line.Place
	newcomer bool
}

// visit answers a join or a poll, by call, which asks the store, or without the store. The error of a refusal says when
// to come back.
func (r *Zones) visit(ctx context.Context, z *Zone, v visitor, call func(context.Context) (line.Told, error)) (line.Told, error) {
	if z.outage.troubled.Load() {
		if a, handled, err := r.without(z, v); handled {
			return a, r.later(z, v, err)
		}
	}
	a, err := call(r.deadlines.bound(ctx))
	switch {
	case err == nil:
		z.outage.answered.Add(1)
		if !a.Remembered && z.outage.troubled.Load() {
			r.succeeded(z)
		}
		return a, nil
	case errors.Is(err, line.ErrStoreFull):
		z.outage.answered.Add(1)
	case unanswered(ctx, err):
		z.outage.unanswered.Add(1)
		if a, handled, err := r.failed(z, v); handled {
			return a, r.later(z, v, err)
		}
		return a, r.later(z, v, unavailable(err))
	}
	return a, r.later(z, v, err)
}

// without answers a visitor of a troubled zone without the store. handled is false if the store has to be asked.
func (r *Zones) without(z *Zone, v visitor) (a line.Told, handled bool, err error) {
	o := &z.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	now := r.Millis()
	switch {
	case o.phase == away:
		a, err = r.admit(z, v, now)
		return a, true, err
	case o.phase == returning && now < o.calmAt:
		return line.Told{}, true, errHeld
	case o.phase == returning:
		o.end()
	}
	return line.Told{}, false, nil
}

// failed takes in that the store did not answer a visitor's call. In the phase away it answers in the store's place.
func (r *Zones) failed(z *Zone, v visitor) (a line.Told, handled bool, err error) {
	o := &z.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	now := r.Millis()
	if r.fail(z, now); o.phase != away {
		return line.Told{}, false, nil
	}
	a, err = r.admit(z, v, now)
	return a, true, err
}

// fail takes in a failed call. It begins the phase failing, and the phase away if calls have failed for AwayAfter and
// servers admit to the zone. The caller holds mu.
func (r *Zones) fail(z *Zone, now int64) {
	o := &z.outage
	s, known := z.remembered()
	if !known {
		return
	}
	o.lastFailed = now
	if o.phase == calm {
		o.phase, o.failedAt = failing, now
		o.troubled.Store(true)
		r.meter.StoreFailing(z.id, true)
	}
	if o.phase != failing || now-o.failedAt < AwayAfter.Milliseconds() || !admits(s, r.servers) {
		return
	}
	o.phase, o.opensAt, o.usedMillis, o.refusedAt = away, now+pauseMillis(s), 0, now
	limit, burst := share(s, r.servers)
	o.share = rate.NewLimiter(limit, burst)
	r.log.Warn("the zone's store is away: this server admits its share by itself",
		"zone", z.id, "servers", r.servers, "perMinute", int64(limit*60))
}

// succeeded takes in that the store answered a call of a troubled zone. Only a probe ends the phase away.
func (r *Zones) succeeded(z *Zone) {
	o := &z.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == failing {
		o.end()
		r.meter.StoreFailing(z.id, false)
	}
}

// comeBack ends the phase away, after the store was told who was admitted. For a while all are held, until the other
// servers have told it, too.
func (r *Zones) comeBack(z *Zone) {
	o := &z.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	o.phase, o.calmAt = returning, r.Millis()+Apart.Milliseconds()
	r.meter.StoreFailing(z.id, false)
	r.log.Info("the zone's store is back", "zone", z.id)
}

func (o *outage) end() {
	o.phase = calm
	o.troubled.Store(false)
}

// inPhase reports whether the outage is in one of the phases.
func (o *outage) inPhase(phases ...phase) bool {
	if !o.troubled.Load() {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(phases, o.phase)
}

// probeAll begins one probe of each zone that needs one and has none under way. Zones do not wait for one another: each
// may lie on another node.
func (r *Zones) probeAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if z.outage.inPhase(failing, away) {
			r.background.GoAlone(&z.outage.probing, func() { r.probe(ctx, z) })
		}
	}
}

// probe asks the store for something that lets nobody in. A store that was stopped, not killed, later works off all
// that it was sent: a late observation does no harm, but late polls would admit their senders.
func (r *Zones) probe(ctx context.Context, z *Zone) {
	bounded, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	_, err := z.observe(bounded, 0)
	if err == nil && z.outage.inPhase(away) {
		err = r.recall(bounded, z)
	}
	switch {
	case err == nil && z.outage.inPhase(away):
		r.comeBack(z)
	case err == nil:
		r.succeeded(z)
	case unanswered(ctx, err):
		z.outage.mu.Lock()
		defer z.outage.mu.Unlock()
		r.fail(z, r.Millis())
	}
}

// unanswered reports whether err says that the store did not answer. It is false if the store refused a newcomer for want
// of memory, or if the caller, whose context is ctx, gave up.
func unanswered(ctx context.Context, err error) bool {
	if errors.Is(err, line.ErrStoreFull) {
		return false
	}
	return (errors.Is(err, line.ErrStoreUnavailable) || errors.Is(err, context.DeadlineExceeded)) && ctx.Err() == nil
}

// unavailable returns err as one that wraps line.ErrStoreUnavailable.
func unavailable(err error) error {
	if errors.Is(err, line.ErrStoreUnavailable) {
		return err
	}
	return fmt.Errorf("zones: %w: %w", line.ErrStoreUnavailable, err)
}

// mostUnanswered: a store that leaves more than one mostUnanswered-th of the visitors' calls unanswered is overloaded.
const mostUnanswered = 10

// Overloaded returns the zones of which the store, since it was last asked, left more than a tenth of the visitors' calls
// unanswered.
func (r *Zones) Overloaded() (zones []string) {
	for id, z := range *r.zones.Load() {
		answered, unanswered := z.outage.answered.Swap(0), z.outage.unanswered.Swap(0)
		if mostUnanswered*unanswered > answered+unanswered {
			zones = append(zones, id)
		}
	}
	return zones
}
