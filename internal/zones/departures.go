package zones

import (
	"sync"

	"github.com/openqueue/waitingroom/internal/line"
)

// maxDepartures is about how many departures are remembered of all zones together: some 240 MB. Beyond them the oldest of
// the zone is forgotten for each new one, and counted. With an idle timeout of 60 s and places that are kept for 900 s each matters for 981 s
// (window.DepartureMatters): so 1,069 may depart a second, of those that one server answers.
const maxDepartures = 1 << 20

// departures are the places of one zone that this server lately saw end: their visitors were admitted or left. A store
// that loses its data is told of them, so that no such place comes back and no admission has two passes. Visitors who
// were swept are not among them: their tokens say that they had fallen silent. The zero value is empty.
type departures struct {
	mu   sync.RWMutex
	byID map[line.ID]departure
	// order has the departures in order of time. A visitor who departed twice is in it twice, and in byID with the
	// later departure.
	order []ending
	// first is how many departures were before those in order.
	first uint64
}

// ending is who departed, and when, on this server's clock.
type ending struct {
	id       line.ID
	atMillis int64
}

// departure is a departure that this server saw.
type departure struct {
	line.Departure
	// token is the arrival in the token of a visitor who was admitted: it may be less than that of Place.
	token int64
	// aheadMillis is that of the admission: see line.Answer. local: this server admitted the visitor by itself.
	aheadMillis int64
	local       bool
	// atMillis is when that was, on this server's clock.
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

// add remembers a departure; if full, it forgets the oldest for that. If an admitted visitor gives up another place
// later, the admission stays remembered.
func (ds *departures) add(d departure, full bool) (forgotten bool) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	was := ds.byID[d.Place.ID]
	d.Place.ArrivedAtMicros = max(d.Place.ArrivedAtMicros, was.Place.ArrivedAtMicros)
	if was.AdmittedAtMillis > 0 && was.AdmittedAtMillis == d.AdmittedAtMillis {
		return false // asked again
	}
	if was.AdmittedAtMillis > d.AdmittedAtMillis {
		d.AdmittedAtMillis, d.ExpiresAtMillis, d.aheadMillis, d.local = was.AdmittedAtMillis, was.ExpiresAtMillis, was.aheadMillis, was.local
		d.token = was.token
	}
	if ds.byID == nil {
		ds.byID = make(map[line.ID]departure)
	}
	if full && len(ds.order) > 0 {
		ds.dropOldest()
		forgotten = true
	}
	ds.byID[d.Place.ID] = d
	ds.order = append(ds.order, ending{d.Place.ID, d.atMillis})
	return forgotten
}

// find returns how the place ended, if that is known.
func (ds *departures) find(p line.Place) (departure, bool) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	d, ok := ds.byID[p.ID]
	return d, ok && p.ArrivedAtMicros <= d.Place.ArrivedAtMicros
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

// from returns at most tellAtOnce departures from the next one on, and which is next after them. It leaves out admissions
// that lie after nowMillis on the zone's clock, since the clock of a store that took over may be behind; later is when the
// last of them was.
func (ds *departures) from(next uint64, nowMillis int64) (list []line.Departure, then uint64, later int64) {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	next = max(next, ds.first)
	for ; next < ds.first+uint64(len(ds.order)) && len(list) < tellAtOnce; next++ {
		e := ds.order[next-ds.first]
		switch d := ds.byID[e.id]; {
		case d.atMillis != e.atMillis: // the visitor departed again
		case d.AdmittedAtMillis > nowMillis:
			later = max(later, d.AdmittedAtMillis)
		default:
			list = append(list, d.Departure)
		}
	}
	return list, next, later
}

// count returns how many departures are remembered.
func (ds *departures) count() int64 {
	ds.mu.RLock()
	defer ds.mu.RUnlock()
	return int64(len(ds.order))
}

// prune forgets the oldest departures, up to the first that matters: one that was not before a time on this server's
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
	ds.first++
	if ds.byID[oldest.id].atMillis == oldest.atMillis {
		delete(ds.byID, oldest.id)
	}
}
