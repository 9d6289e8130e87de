package zones

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
	// told is the lostAt after which the store was last told of all departures; untold if it has to be told in any case.
	told atomic.Int64
	// outside counts admissions that were made without the store.
	outside atomic.Uint64
	// telling: the background is telling the store who departed.
	telling atomic.Bool
	// tellMu guards how far the store was told after the loss at toldLost. next is the number of the first departure that it
	// was not told of. later is the time of the latest admission that it could not be told of, because the zone's clock had
	// not reached it; 0 if there was none. toldOutside is what outside was then. Once the clock shows later, or outside is
	// another, all departures are told again. Example: the zone's clock fell back by 5 s, to 12:00:00. An admission of
	// 12:00:04 is told of at 12:00:04.
	tellMu            sync.Mutex
	toldLost, later   int64
	next, toldOutside uint64
}

// tellAtOnce is how many departures the store is told in one call: some 100 ms of Redis, in parts.
const tellAtOnce = 1 << 14

// untold differs from every time at which a store may notice a loss.
const untold = -1

// recall tells the store of the departures that this server remembers of a zone. It does so if the store has noticed a
// loss since it was last told, or has not been told of all of them yet. After a failure it goes on where it failed.
func (r *Zones) recall(ctx context.Context, z *Zone) error {
	z.tellMu.Lock()
	defer z.tellMu.Unlock()
	lost, now := z.lostAt.Load(), z.now.Load()
	if z.told.Load() == lost {
		// Nothing is forgotten during an outage. After it, the tokens of visitors who departed just before it pass
		// for as fresh as the tokens of those who waited.
		z.departures.prune(z.stoodAt.Load()-window.DepartureMatters(*z.settings.Load(), seenWithin).Milliseconds(), now)
		return nil
	}
	if z.toldLost != lost {
		z.toldLost, z.later, z.next = lost, 0, 0
	}
	before := z.outside.Load()
	if z.next == 0 && now < z.later && before == z.toldOutside {
		return nil
	}
	if z.next == 0 {
		z.later = 0
	}
	for {
		list, next, later := z.departures.from(z.next, now)
		if len(list) == 0 {
			z.later = max(z.later, later)
			break
		}
		if _, err := measured(r, store.Recall, func() (none, error) { return none{}, r.store.Recall(ctx, z.id, list) }); err != nil {
			return fmt.Errorf("zones: recall: %w", err)
		}
		z.next, z.later = next, max(z.later, later)
		r.log.Info("the store was told who had departed", "zone", z.id, "departures", len(list))
	}
	if z.later > 0 {
		z.next, z.toldOutside = 0, before
		return nil
	}
	z.told.Store(lost)
	if z.outside.Load() != before {
		z.told.Store(untold)
	}
	return nil
}

// recallAnew is recall from the beginning: the store has lost all that it was told.
func (r *Zones) recallAnew(ctx context.Context, z *Zone) error {
	z.told.Store(untold)
	z.tellMu.Lock()
	z.told.Store(untold) // again, for a telling that went on meanwhile may have ended
	z.later, z.next = 0, 0
	z.tellMu.Unlock()
	return r.recall(ctx, z)
}

// toldAll reports whether the store, since it last lost data, was told of all departures from before the loss.
func (z *Zone) toldAll() bool {
	return z.told.Load() == z.lostAt.Load()
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
func (r *Zones) recallAll(ctx context.Context) {
	departed := int64(0)
	for _, z := range *r.zones.Load() {
		departed += z.departures.count()
		r.background.GoAlone(&z.telling, func() { r.recallOrLog(ctx, z) })
	}
	r.departed.Store(departed)
}

// recallOrLog is recall for callers that try again later.
func (r *Zones) recallOrLog(ctx context.Context, z *Zone) {
	if err := r.recall(ctx, z); err != nil {
		r.log.Debug("the store cannot be told yet who had departed", "zone", z.id, "error", err)
	}
}

// departed remembers that the visitor of an answer was admitted, or left if the answer has no admission. After an admission no
// place that the visitor was given so far may come back, so the latest arrival that was given out is noted in place of the
// token's. Whoever leaves gives up the place of the token, no later one. The store is told of a local admission as soon as it
// answers.
func (z *Zone) departed(a *line.Answer, local bool) {
	p := a.Place
	if a.AdmittedAtMillis > 0 {
		p.ArrivedAtMicros = max(p.ArrivedAtMicros, z.lastArrival.Load())
	}
	p.Epoch, p.DueMillis, p.Told = z.epoch.Load(), 0, 0
	d := departure{
		Departure: line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis},
		token:     a.Place.ArrivedAtMicros, aheadMillis: a.AheadMillis, local: local, atMillis: z.zones.Millis(),
	}
	if z.departures.add(d, z.zones.departed.Load() >= maxDepartures) {
		z.zones.meter.Count(z.id, Forgotten)
	}
	if local {
		z.outside.Add(1)
		z.told.Store(untold)
	}
}
