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

// maxDepartures is how many departures are remembered of one zone: about 120 MB. A further one pushes the oldest out. A
// store that loses its data might then put that visitor back.
const maxDepartures = 1 << 19

// departures are the places of one zone that this server lately saw end: their visitors were admitted or left. A store
// that loses its data is told of them, so that no such place comes back and no admission has two passes. Visitors who
// were swept are not among them: their tokens say that they had fallen silent. The zero value is empty.
type departures struct {
	mu   sync.RWMutex
	byID map[line.ID]departure
	// order has the departures in order of time. A visitor who departed twice is in it twice, and in byID with the
	// later departure.
	order []ending
}

// ending is who departed, and when, on the registry's clock.
type ending struct {
	id       line.ID
	atMillis int64
}

// departure is a departure that this server saw.
type departure struct {
	line.Departure
	// aheadMillis is that of the admission: see line.Answer. local: this server admitted the visitor by itself.
	aheadMillis int64
	local       bool
	// atMillis is when that was, on the registry's clock.
	atMillis int64
}

// admission returns the answer to a visitor with the place who asks again after an admission; ok is false if the
// visitor left, or if the pass has expired at nowMillis on the zone's clock.
func (d *departure) admission(p line.Place, nowMillis int64) (a line.Told, ok bool) {
	if d.ExpiresAtMillis <= nowMillis {
		return line.Told{}, false
	}
	if p.ArrivedAtMicros == 0 { // of one who joins again
		p = d.Place
	}
	p.DueMillis = 0
	return line.Told{Local: d.local, Answer: line.Answer{
		Status: line.AdmittedBefore, Place: p, AdmittedAtMillis: d.AdmittedAtMillis, ExpiresAtMillis: d.ExpiresAtMillis,
		AheadMillis: d.aheadMillis,
	}}, true
}

// add remembers a departure. If an admitted visitor gives up another place later, the admission stays remembered.
func (ds *departures) add(d departure) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	was := ds.byID[d.Place.ID]
	if was.AdmittedAtMillis > 0 && was.AdmittedAtMillis == d.AdmittedAtMillis {
		return // asked again
	}
	if was.AdmittedAtMillis > d.AdmittedAtMillis {
		d.AdmittedAtMillis, d.ExpiresAtMillis, d.aheadMillis, d.local = was.AdmittedAtMillis, was.ExpiresAtMillis, was.aheadMillis, was.local
	}
	if ds.byID == nil {
		ds.byID = make(map[line.ID]departure)
	}
	if len(ds.order) >= maxDepartures {
		ds.dropOldest()
	}
	ds.byID[d.Place.ID] = d
	ds.order = append(ds.order, ending{d.Place.ID, d.atMillis})
}

// find returns how the place ended, if that is known.
func (ds *departures) find(p line.Place) (departure, bool) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	d, ok := ds.byID[p.ID]
	if !ok || p.ArrivedAtMicros > d.Place.ArrivedAtMicros {
		return departure{}, false
	}
	return d, true
}

// stands takes in that a visitor waits at a place. So a departure that is remembered of that visitor was from an
// earlier place.
func (ds *departures) stands(p line.Place) {
	if _, ended := ds.find(p); !ended {
		return
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d, ok := ds.byID[p.ID]; ok && d.Place.ArrivedAtMicros >= p.ArrivedAtMicros {
		d.Place.ArrivedAtMicros = p.ArrivedAtMicros - 1
		ds.byID[p.ID] = d
	}
}

// upTo returns the departures of which the store is to be told: none that was admitted after millis, the time on the
// zone's clock. more reports whether there are such: the clock of a store that took over may be behind. told is up to
// which time the store knows the admissions already: only later ones are returned. 0: all are.
func (ds *departures) upTo(millis, told int64) (list []line.Departure, more bool) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	for _, d := range ds.byID {
		switch {
		case d.AdmittedAtMillis > millis:
			more = true
		case told == 0 || d.AdmittedAtMillis > told:
			list = append(list, d.Departure)
		}
	}
	return list, more
}

// prune forgets the oldest departures, up to the first that matters: one that was not before a time on the registry's
// clock, or whose pass is good at nowMillis on the zone's clock.
func (ds *departures) prune(beforeMillis, nowMillis int64) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for len(ds.order) > 0 {
		oldest := ds.order[0]
		d := ds.byID[oldest.id]
		if oldest.atMillis >= beforeMillis || d.atMillis == oldest.atMillis && d.ExpiresAtMillis > nowMillis {
			break
		}
		ds.dropOldest()
	}
	if len(ds.order) == 0 {
		ds.byID, ds.order = nil, nil
	}
}

func (ds *departures) dropOldest() {
	oldest := ds.order[0]
	ds.order = ds.order[1:]
	if ds.byID[oldest.id].atMillis == oldest.atMillis {
		delete(ds.byID, oldest.id)
	}
}

// recall is what of a zone the store is told that it may have lost.
type recall struct {
	departures departures
	// told is the lostAt after which the store was last told who had departed; untold if the store has to be told in
	// any case. toldUpTo is up to which time of its clock the store was told of admissions; 0 if it was told of all.
	told, toldUpTo atomic.Int64
	// outside counts admissions that were made without the store.
	outside atomic.Uint64
	// telling: the background is telling the store who departed. silent: the log says already that this fails.
	telling, silent atomic.Bool
}

// untold differs from every time at which a store may notice a loss.
const untold = -1

// tell tells the store of the departures that this server remembers of a zone. It does so if the store has noticed a
// loss since it was last told, or has not been told of all of them yet.
func (r *Registry) tell(ctx context.Context, z *Zone) error {
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
	before := z.outside.Load()
	all, more := z.departures.upTo(now, upTo)
	if len(all) > 0 {
		if _, err := measured(r, store.Recall, func() (none, error) { return none{}, r.store.Recall(ctx, z.id, all) }); err != nil {
			return fmt.Errorf("registry: recall: %w", err)
		}
		r.log.Info("the store was told who had departed", "zone", z.id, "departures", len(all))
	}
	if upTo = 0; more {
		upTo = now // the store is told of later admissions when the zone's clock has reached them
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

// letIn changes the answer to a visitor for whom the store has no place, if this server remembers the visitor's
// admission and the store was not told of all departures yet: the visitor is told of that admission again. A store whose
// clock is behind is not told of an admission before its clock has reached it.
func (z *Zone) letIn(a *line.Told, p line.Place) {
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

// tellAll begins tell for all zones. Zones do not wait for one another: each may lie on another node.
func (r *Registry) tellAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		r.background.GoAlone(&z.telling, func() { r.tellOrLog(ctx, z) })
	}
}

// tellOrLog is tell, with the first of several failures logged. tellAll tries again.
func (r *Registry) tellOrLog(ctx context.Context, z *Zone) {
	if err := r.tell(ctx, z); err != nil && !z.silent.Swap(true) {
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
	z.departures.add(departure{
		Departure:   line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis},
		aheadMillis: a.AheadMillis, local: local, atMillis: z.registry.Millis(),
	})
	if local {
		z.outside.Add(1)
		z.told.Store(untold)
	}
}
