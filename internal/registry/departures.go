package registry

import (
	"context"
	"fmt"
	"sync"
	"time"

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

// ending is who departed, and when.
type ending struct {
	id line.ID
	at time.Time
}

// departure is a departure that this server saw, and when.
type departure struct {
	line.Departure
	// expiresAtMillis and aheadMillis are set if the store admitted the visitor: see line.Answer.
	expiresAtMillis, aheadMillis int64
	at                           time.Time
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
		d.AdmittedAtMillis, d.expiresAtMillis, d.aheadMillis = was.AdmittedAtMillis, was.expiresAtMillis, was.aheadMillis
	}
	if ds.byID == nil {
		ds.byID = make(map[line.ID]departure)
	}
	if len(ds.order) >= maxDepartures {
		ds.dropOldest()
	}
	ds.byID[d.Place.ID] = d
	ds.order = append(ds.order, ending{d.Place.ID, d.at})
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

// prune forgets the departures before a time.
func (ds *departures) prune(before time.Time) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for len(ds.order) > 0 && ds.order[0].at.Before(before) {
		ds.dropOldest()
	}
	if len(ds.order) == 0 {
		ds.byID, ds.order = nil, nil
	}
}

func (ds *departures) dropOldest() {
	oldest := ds.order[0]
	ds.order = ds.order[1:]
	if ds.byID[oldest.id].at.Equal(oldest.at) {
		delete(ds.byID, oldest.id)
	}
}

// tell tells the store of the departures that this server remembers of a zone. It does so if the store has noticed a
// loss since it was last told, or has not been told of all of them yet.
func (r *Registry) tell(ctx context.Context, z *remembered) error {
	lost, now, upTo, id := z.lostAt.Load(), z.now.Load(), z.toldUpTo.Load(), z.id
	switch {
	case z.told.Load() != lost:
		upTo = 0
	case upTo == 0:
		// Nothing is forgotten during an outage. After it, the tokens of visitors who departed just before it pass
		// for as fresh as the tokens of those who waited.
		z.departures.prune(r.began.Add(time.Duration(z.stoodFor.Load()) - window.DepartureMatters(*z.settings.Load(), seenWithin)))
		return nil
	}
	before := z.outside.Load()
	all, more := z.departures.upTo(now, upTo)
	if len(all) > 0 {
		if _, err := measured(r, store.Recall, func() (none, error) { return none{}, r.store.Recall(ctx, id, all) }); err != nil {
			return fmt.Errorf("registry: recall: %w", err)
		}
		r.log.Info("the store was told who had departed", "zone", id, "departures", len(all))
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
func (z *remembered) toldAll() bool {
	return z.told.Load() == z.lostAt.Load() && z.toldUpTo.Load() == 0
}

// letIn changes the answer to a visitor for whom the store has no place, if this server remembers the visitor's
// admission and the store was not told of all departures yet: the visitor is told of that admission again. A store whose
// clock is behind is not told of an admission before its clock has reached it.
func (z *remembered) letIn(a *line.Answer, p line.Place) {
	if a.Status != line.Gone || z.toldAll() {
		return
	}
	if d, ended := z.departures.find(p); ended && d.expiresAtMillis > a.State.NowMillis {
		a.Status, a.Place = line.AdmittedBefore, line.Place{ID: p.ID, ArrivedAtMicros: p.ArrivedAtMicros}
		a.AdmittedAtMillis, a.ExpiresAtMillis, a.AheadMillis = d.AdmittedAtMillis, d.expiresAtMillis, d.aheadMillis
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
func (r *Registry) tellOrLog(ctx context.Context, z *remembered) {
	if err := r.tell(ctx, z); err != nil && !z.silent.Swap(true) {
		r.log.Warn("the store cannot be told yet who had departed", "zone", z.id, "error", err)
	} else if err == nil {
		z.silent.Store(false)
	}
}

// tellOnce is tell for one zone after the other.
func (r *Registry) tellOnce(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		r.tellOrLog(ctx, z)
	}
}

// Depart takes in that a visitor was admitted without the store. The store is told as soon as it answers.
func (r *Registry) Depart(zoneID string, d line.Departure) {
	if z := r.lookup(zoneID); z != nil {
		r.departed(z, line.Answer{Place: d.Place, AdmittedAtMillis: d.AdmittedAtMillis})
		z.outside.Add(1)
		z.told.Store(untold)
	}
}

// Departed returns how the place ended, if this server saw that lately. A place without an arrival stands for any place
// of its visitor.
func (r *Registry) Departed(zoneID string, p line.Place) (line.Departure, bool) {
	z := r.lookup(zoneID)
	if z == nil {
		return line.Departure{}, false
	}
	d, ended := z.departures.find(p)
	return d.Departure, ended
}

// Memory returns what this server remembers of a zone's line, and never asks the store. It returns the zero value for a
// line of which this server never heard.
func (r *Registry) Memory(zoneID string) line.Memory {
	z := r.lookup(zoneID)
	if z == nil {
		return line.Memory{}
	}
	return z.memory()
}

// departed remembers that the visitor of an answer was admitted, or left if the answer has no admission. No place that
// the visitor was given so far may come back, so the latest arrival that was given out is noted in place of the token's.
func (r *Registry) departed(z *remembered, a line.Answer) {
	p := a.Place
	p.ArrivedAtMicros = max(p.ArrivedAtMicros, z.lastArrival.Load())
	p.Epoch, p.DueMillis = z.epoch.Load(), 0
	z.departures.add(departure{
		Departure:       line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis},
		expiresAtMillis: a.ExpiresAtMillis, aheadMillis: a.AheadMillis, at: r.now(),
	})
}
