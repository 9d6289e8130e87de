package registry

import (
	"sync"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/line"
)

// maxDepartures is how many departures are remembered of all zones together: about 240 MB. Of the oldest beyond them,
// only who departed is remembered: maxOlder of those, about 80 MB. It is counted, and logged, what is not remembered.
const (
	maxDepartures = 1 << 20
	maxOlder      = 1 << 22
)

// departures are the places of one zone that this server lately saw end: their visitors were admitted or left. A store
// that loses its data is told of them, so that no such place comes back and no admission has two passes. Visitors who
// were swept are not among them: their tokens say that they had fallen silent. The zero value is empty.
type departures struct {
	mu   sync.RWMutex
	byID map[line.ID]departure
	// order has the departures in order of time. A visitor who departed twice is in it twice, and in byID with the
	// later departure.
	order []ending
	// first is how many departures were before those in order, and firstOlder how many before those in older.
	first, firstOlder uint64
	older             []older
	// others and othersOlder are how many departures, and older ones, other zones have.
	others, othersOlder atomic.Int64
}

// older are up to tellAtOnce departures, of which only the ids are remembered, the oldest first. newest is the newest
// arrival of them. atMillis is when the latest was, and expiresAtMillis when the last pass expires.
type older struct {
	ids                       map[line.ID]struct{}
	newest                    line.Place
	atMillis, expiresAtMillis int64
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
// shortened and forgotten are how many departures are remembered no longer, but for the ids or at all.
func (ds *departures) add(d departure) (shortened, forgotten int) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	was := ds.byID[d.Place.ID]
	if was.AdmittedAtMillis > 0 && was.AdmittedAtMillis == d.AdmittedAtMillis {
		return 0, 0 // asked again
	}
	if was.AdmittedAtMillis > d.AdmittedAtMillis {
		d.AdmittedAtMillis, d.ExpiresAtMillis, d.aheadMillis, d.local = was.AdmittedAtMillis, was.ExpiresAtMillis, was.aheadMillis, was.local
	}
	if ds.byID == nil {
		ds.byID = make(map[line.ID]departure)
	}
	if len(ds.order) > 0 && int64(len(ds.order))+ds.others.Load() >= maxDepartures {
		shortened, forgotten = 1, ds.shortenOldest()
	}
	ds.byID[d.Place.ID] = d
	ds.order = append(ds.order, ending{d.Place.ID, d.atMillis})
	return shortened, forgotten
}

// shortenOldest remembers of the oldest departure only the id. It returns how many others were forgotten for that. The
// caller holds mu.
func (ds *departures) shortenOldest() (forgotten int) {
	d := ds.byID[ds.order[0].id]
	ds.dropOldest()
	n := len(ds.older)
	if n == 0 || len(ds.older[n-1].ids) >= tellAtOnce {
		ds.older, n = append(ds.older, older{ids: make(map[line.ID]struct{})}), n+1
	}
	o := &ds.older[n-1]
	o.ids[d.Place.ID] = struct{}{}
	if d.Place.ArrivedAtMicros >= o.newest.ArrivedAtMicros {
		o.newest = d.Place
	}
	o.atMillis, o.expiresAtMillis = d.atMillis, max(o.expiresAtMillis, d.ExpiresAtMillis)
	if n > 1 && int64(n*tellAtOnce)+ds.othersOlder.Load() > maxOlder {
		forgotten = len(ds.older[0].ids)
		ds.dropOlder()
	}
	return forgotten
}

func (ds *departures) dropOlder() {
	ds.older = ds.older[1:]
	ds.firstOlder++
}

// find returns how the place ended, if that is known.
func (ds *departures) find(p line.Place) (departure, bool) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	if d, ok := ds.byID[p.ID]; ok {
		return d, p.ArrivedAtMicros <= d.Place.ArrivedAtMicros
	}
	for i := range ds.older {
		o := &ds.older[i]
		if _, ok := o.ids[p.ID]; ok && p.ArrivedAtMicros <= o.newest.ArrivedAtMicros {
			return departure{Departure: o.departure(p.ID)}, true
		}
	}
	return departure{}, false
}

// departure is what is remembered of one of older: that the visitor left.
func (o *older) departure(id line.ID) line.Departure {
	p := o.newest
	p.ID = id
	return line.Departure{Place: p}
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

// next returns the departures of which the store is to be told next, and how far the telling is then; done if these are
// the last.
func (ds *departures) next(t telling) (list []line.Departure, then telling, done bool) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	t.order, t.older = max(t.order, ds.first), max(t.older, ds.firstOlder)
	for ; t.order < ds.first+uint64(len(ds.order)) && len(list) < tellAtOnce; t.order++ {
		e := ds.order[t.order-ds.first]
		switch d := ds.byID[e.id]; {
		case d.atMillis != e.atMillis: // the visitor departed again
		case d.AdmittedAtMillis > t.millis:
			t.more = true
		case t.told == 0 || d.AdmittedAtMillis > t.told:
			list = append(list, d.Departure)
		}
	}
	if at := t.older - ds.firstOlder; len(list) == 0 && t.told == 0 && at < uint64(len(ds.older)) {
		for id := range ds.older[at].ids {
			list = append(list, ds.older[at].departure(id))
		}
		t.older++
	}
	return list, t, len(list) == 0
}

// count returns how many departures are remembered, and how many older ones at most.
func (ds *departures) count() (exact, older int64) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	return int64(len(ds.order)), int64(len(ds.older)) * tellAtOnce
}

// prune forgets the oldest departures, up to the first that matters: one that was not before a time on the registry's
// clock, or whose pass is good at nowMillis on the zone's clock.
func (ds *departures) prune(beforeMillis, nowMillis int64) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for len(ds.older) > 0 && ds.older[0].atMillis < beforeMillis && ds.older[0].expiresAtMillis <= nowMillis {
		ds.dropOlder()
	}
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
	ds.first++
	if ds.byID[oldest.id].atMillis == oldest.atMillis {
		delete(ds.byID, oldest.id)
	}
}
