package embedded

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// aside are the places of those who fell silent. A sweep takes such a place out of the line and sets it aside; whoever
// comes back within keepPlaceSeconds stands in the line again. The sweep fills one of the two maps for keepPlaceSeconds,
// and then drops the other and fills that. So a place is there for keepPlaceSeconds at least, and no call's work depends
// on how many are set aside.
type aside struct {
	places [2]map[line.ID]silent
	// filling is the map that the sweep fills. since is from when on, in milliseconds; 0 while both are empty.
	filling int
	since   int64
	// back is where the next one stands at the earliest who comes back overdue, in microseconds.
	back int64
}

// silent is a place that is set aside: since when, in milliseconds, where it stood, and its arrival.
type silent struct{ atMillis, stands, arrived int64 }

// count returns how many places are set aside, those included whose time is over.
func (a *aside) count() int64 { return int64(len(a.places[0]) + len(a.places[1])) }

// turn has the sweep fill the other map when the one was filled for keepPlaceSeconds.
func (a *aside) turn(now int64, s zone.Settings) {
	keep := s.KeepPlace().Milliseconds()
	if a.since == 0 || now-a.since < keep {
		return
	}
	a.filling, a.since = 1-a.filling, now
	a.places[a.filling] = nil
	if keep == 0 || a.count() == 0 {
		a.places, a.since = [2]map[line.ID]silent{}, 0
	}
}

// drop gives up a place that is set aside, if its arrival is not later than that.
func (a *aside) drop(id line.ID, arrived int64) {
	for _, places := range a.places {
		if its, ok := places[id]; ok && its.arrived <= arrived {
			delete(places, id)
		}
	}
}

// setAside sets aside a place that is in the line, if there is room.
func (q *zoneQueue) setAside(now int64, p line.Place) {
	a := &q.aside
	if q.settings.KeepPlaceSeconds == 0 || a.count() >= q.settings.MostAside() {
		return
	}
	if a.since == 0 {
		a.since = now
	}
	if a.places[a.filling] == nil {
		a.places[a.filling] = make(map[line.ID]silent)
	}
	a.places[a.filling][p.ID] = silent{now, q.byID[p.ID], p.ArrivedAtMicros}
	q.totals.SetAside++
}

// comeBack has a visitor stand in the line again whose place is set aside. It returns nil if none is.
func (q *zoneQueue) comeBack(t *transaction, id line.ID) *record {
	for _, places := range q.aside.places {
		its, ok := places[id]
		delete(places, id)
		if !ok || its.atMillis+q.settings.KeepPlace().Milliseconds() < t.now {
			continue
		}
		if its.stands <= q.edge && !q.gate.Outdates(its.stands, t.now) {
			its.stands = q.overdueStand(its.stands)
		}
		q.totals.Returned++
		r := q.put(line.Place{ID: id, ArrivedAtMicros: its.arrived, ScoreMicros: its.stands})
		r.poll(t.now, 0)
		return r
	}
	return nil
}

// overdueStand is where one stands who comes back when its turn is over: before all who wait, but between two who came back
// there stands one of the others. So those who came back take half of each window at most.
func (q *zoneQueue) overdueStand(stands int64) int64 {
	stands = max(stands, q.aside.back)
	other := stands
	q.live.ascend(stands, func(r *record) bool {
		other = r.arrived
		return false
	})
	if other == stands {
		left := window.Between(q.passed, q.present)
		q.line.ascend(max(stands, q.edge), func(r *record) bool {
			other, left = r.arrived, left-1
			return left > 0
		})
	}
	q.aside.back = other + 1
	return stands
}
