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

// maxDepartures bounds what is remembered of one zone: about 120 MB. One more pushes
// the oldest out, whose visitor a store that loses its data might then put back.
const maxDepartures = 1 << 19

// departures are the places of one zone that ended lately, as far as this server saw
// it: their visitors were admitted or left. A store that loses its data is told, so
// that none of them comes back and no admission has two passes. Who was swept is not
// among them: the token says that it had fallen silent. The zero value is empty.
type departures struct {
	mu   sync.RWMutex
	byID map[line.ID]departure
	// order has them in order of time. Whoever departed twice is there twice; the
	// later one is in byID.
	order []ending
}

// ending is when somebody departed.
type ending struct {
	id line.ID
	at time.Time
}

// departure is one that this server saw at a time.
type departure struct {
	line.Departure
	// expiresAtMillis and aheadMillis are those of an admission that the store made: see line.Answer.
	expiresAtMillis, aheadMillis int64
	at                           time.Time
}

// add remembers a departure. An admission is not forgotten because its visitor, who
// is in, gives up a place besides.
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

// stands takes in that a visitor waits at a place: what is remembered is of an earlier
// one.
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

// upTo returns what is remembered but for admissions after the zone's time, and whether
// there are such: a zone's clock may lag behind what a server took it for. Of what has been told up
// to a time, not 0, only later admissions.
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

// prune forgets departures of before the time.
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

// tell has the store take in the departures that this server remembers of a zone, if
// the store has noticed a loss since it was last told, or was not told of all.
func (r *Registry) tell(ctx context.Context, z *remembered) error {
	lost, now, upTo, id := z.lostAt.Load(), z.now.Load(), z.toldUpTo.Load(), z.id
	switch {
	case z.told.Load() != lost:
		upTo = 0
	case upTo == 0:
		// In an outage nothing is forgotten: the tokens of those who departed before it
		// are as fresh after it as those of the ones who waited.
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
		upTo = now // the rest is told as soon as the zone's clock is there
	}
	z.toldUpTo.Store(upTo)
	z.told.Store(lost)
	if z.outside.Load() != before {
		z.told.Store(untold)
	}
	return nil
}

// toldAll reports whether the store was told who had departed before it last lost something.
func (z *remembered) toldAll() bool {
	return z.told.Load() == z.lostAt.Load() && z.toldUpTo.Load() == 0
}

// letIn has one for whom the store knows no place be told of an admission that this server remembers, and of which the
// store was not told yet: where its clock is behind, it cannot know of it before that time comes.
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

// tellAll begins tell for all zones. They do not wait for one another: each may lie on another node.
func (r *Registry) tellAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if !z.telling.Swap(true) {
			r.background.Go(func() {
				defer z.telling.Store(false)
				r.tellOrLog(ctx, z)
			})
		}
	}
}

// tellOrLog is tell. A store that cannot be told is told later.
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

// Depart takes in that a visitor was admitted without the store: the store is told
// when it can be.
func (r *Registry) Depart(zoneID string, d line.Departure) {
	if z := r.lookup(zoneID); z != nil {
		r.departed(z, line.Answer{Place: d.Place, AdmittedAtMillis: d.AdmittedAtMillis})
		z.outside.Add(1)
		z.told.Store(untold)
	}
}

// Departed returns how the place ended, if this server saw that lately. A place
// without an arrival is any of that visitor's.
func (r *Registry) Departed(zoneID string, p line.Place) (line.Departure, bool) {
	z := r.lookup(zoneID)
	if z == nil {
		return line.Departure{}, false
	}
	d, ended := z.departures.find(p)
	return d.Departure, ended
}

// Memory returns what this server remembers of a zone's line, and never asks the
// store. It is the zero value for a line of which this server never heard.
func (r *Registry) Memory(zoneID string) line.Memory {
	z := r.lookup(zoneID)
	if z == nil {
		return line.Memory{}
	}
	return z.memory()
}

// departed remembers that the visitor is gone: that of an admission, or of a place alone. Whatever token was
// shown, no place of that id that was given out so far must come back.
func (r *Registry) departed(z *remembered, a line.Answer) {
	p := a.Place
	p.ArrivedAtMicros = max(p.ArrivedAtMicros, z.lastArrival.Load())
	p.Epoch, p.DueMillis = z.epoch.Load(), 0
	z.departures.add(departure{
		Departure:       line.Departure{Place: p, AdmittedAtMillis: a.AdmittedAtMillis},
		expiresAtMillis: a.ExpiresAtMillis, aheadMillis: a.AheadMillis, at: r.now(),
	})
}
