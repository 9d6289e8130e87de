package registry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
)

// recall is what of a zone the store is told that it may have lost.
type recall struct {
	departures departures
	// told is the lostAt after which the store was last told who had departed; untold if the store has to be told in
	// any case. toldUpTo is up to which time of its clock the store was told of admissions; 0 if it was told of all.
	told, toldUpTo atomic.Int64
	// outside counts admissions that were made without the store.
	outside atomic.Uint64
	// telling: the background is telling the store who departed. silent: the log says already that this fails. anew: the
	// store lost all, so that it is to be told from the beginning. short: the log says already that too many departed.
	telling, silent, anew, short atomic.Bool
	// tellMu guards under, which is how far the telling is that is under way.
	tellMu sync.Mutex
	under  telling
}

// tellAtOnce is how many departures the store is told in one call: some 100 ms of Redis, in parts.
const tellAtOnce = 1 << 14

// telling is how far the store was told of departures. What it took is not told again when it fails. The zero value is
// that none is under way.
type telling struct {
	lost int64
	// millis and told bound the admissions of which it is told: those after told, up to millis on the zone's clock.
	millis, told int64
	// order and older are the departures that come next.
	order, older uint64
	// more: there are admissions after millis: the clock of a store that took over may be behind.
	more bool
}

// untold differs from every time at which a store may notice a loss.
const untold = -1

// recall tells the store of the departures that this server remembers of a zone. It does so if the store has noticed a
// loss since it was last told, or has not been told of all of them yet.
func (r *Registry) recall(ctx context.Context, z *Zone) error {
	z.tellMu.Lock()
	defer z.tellMu.Unlock()
	lost, now, upTo := z.lostAt.Load(), z.now.Load(), z.toldUpTo.Load()
	switch {
	case z.told.Load() != lost:
		upTo = 0
	case upTo == 0:
		// Nothing is forgotten during an outage. After it, the tokens of visitors who departed just before it pass
		// for as fresh as the tokens of those who waited.
		z.departures.prune(z.stoodAt.Load()-window.DepartureMatters(*z.settings.Load(), seenWithin).Milliseconds(), now)
		return nil
	}
	if z.anew.Swap(false) || z.under.millis == 0 || z.under.lost != lost {
		z.under = telling{lost: lost, millis: now, told: upTo}
	}
	before := z.outside.Load()
	for !z.anew.Load() {
		all, then, done := z.departures.next(z.under)
		if z.under.more = then.more; done {
			break
		}
		if _, err := measured(r, store.Recall, func() (none, error) { return none{}, r.store.Recall(ctx, z.id, all) }); err != nil {
			return fmt.Errorf("registry: recall: %w", err)
		}
		z.under = then
		r.log.Info("the store was told who had departed", "zone", z.id, "departures", len(all))
	}
	if upTo = 0; z.under.more {
		upTo = z.under.millis // the store is told of later admissions when the zone's clock has reached them
	}
	z.under = telling{}
	if z.anew.Load() {
		return nil // told stays untold
	}
	z.toldUpTo.Store(upTo)
	z.told.Store(lost)
	if z.outside.Load() != before {
		z.told.Store(untold)
	}
	return nil
}

// toldAll reports whether the store, since it last lost data, was told of all departures from before the loss.
func (z *Zone) toldAll() bool {
	return z.told.Load() == z.lostAt.Load() && z.toldUpTo.Load() == 0
}

// repeatAdmission changes the answer to a visitor for whom the store has no place, if this server remembers the visitor's
// admission and the store was not told of all departures yet: the visitor is told of that admission again. A store whose
// clock is behind is not told of an admission before its clock has reached it.
func (z *Zone) repeatAdmission(a *line.Told, p line.Place) {
	if a.Status != line.Gone || z.toldAll() {
		return
	}
	d, ended := z.departures.find(p)
	if !ended {
		return
	}
	if again, ok := d.admission(p, a.State.NowMillis); ok {
		again.State = a.State
		*a = again
		a.Renew()
	}
}

// recallAll begins recallOrLog for all zones. Zones do not wait for one another: each may lie on another node.
func (r *Registry) recallAll(ctx context.Context) {
	r.shareMemory()
	for _, z := range *r.zones.Load() {
		r.background.GoAlone(&z.telling, func() { r.recallOrLog(ctx, z) })
	}
}

// shareMemory tells each zone how many departures are remembered of the others.
func (r *Registry) shareMemory() {
	var exact, older int64
	for _, z := range *r.zones.Load() {
		e, o := z.departures.count()
		exact, older = exact+e, older+o
	}
	for _, z := range *r.zones.Load() {
		e, o := z.departures.count()
		z.departures.others.Store(max(0, exact-e))
		z.departures.othersOlder.Store(max(0, older-o))
	}
}

// recallOrLog is recall, with the first of several failures logged. recallAll tries again.
func (r *Registry) recallOrLog(ctx context.Context, z *Zone) {
	if err := r.recall(ctx, z); err != nil && !z.silent.Swap(true) {
		r.log.Warn("the store cannot be told yet who had departed", "zone", z.id, "error", err)
	} else if err == nil {
		z.silent.Store(false)
	}
}

// departed remembers that the visitor of an answer was admitted, or left if the answer has no admission. No place that
// the visitor was given so far may come back, so the latest arrival that was given out is noted in place of the token's.
// The store is told of a local admission as soon as it answers.
func (z *Zone) departed(a *line.Answer, local bool) {
	p := a.Place
	p.ArrivedAtMicros = max(p.ArrivedAtMicros, z.lastArrival.Load())
	p.Epoch, p.DueMillis = z.epoch.Load(), 0
	shortened, forgotten := z.departures.add(departure{
		Departure:   line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis},
		aheadMillis: a.AheadMillis, local: local, atMillis: z.registry.Millis(),
	})
	if shortened > 0 {
		z.registry.meter.Happened(z.id, Shortened, shortened)
		z.registry.meter.Happened(z.id, Forgotten, forgotten)
		if !z.short.Swap(true) {
			z.registry.log.Warn("too many visitors were admitted or left lately to remember all of them: if the store loses its data, some of those admitted are refused when they ask again",
				"zone", z.id, "most", maxDepartures)
		}
	}
	if local {
		z.outside.Add(1)
		z.told.Store(untold)
	}
}
