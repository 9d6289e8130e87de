package embedded

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
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
	// noted are records for the journal.
	noted notes
}

// silent is a place that is set aside: since when, in milliseconds, where it stood, and its arrival.
type silent struct{ atMillis, stands, arrived int64 }

// count returns how many places are set aside, those included whose time is over.
func (a *aside) count() int64 { return int64(len(a.places[0]) + len(a.places[1])) }

// turnAside has the sweep fill the other map when the one was filled for keepPlaceSeconds.
func (q *zoneQueue) turnAside(now int64) {
	a, keep := &q.aside, q.settings.KeepPlace().Milliseconds()
	if a.since == 0 || now-a.since < keep {
		return
	}
	a.filling, a.since = 1-a.filling, now
	a.places[a.filling] = nil
	if keep == 0 || a.count() == 0 {
		a.places, a.since = [2]map[line.ID]silent{}, 0
		a.noted.add(q.entryOf(line.ID{}, silent{}))
	}
}

// giveUpAside gives up a place that is set aside, if its arrival is not later than that.
func (q *zoneQueue) giveUpAside(id line.ID, arrived int64) {
	for _, places := range q.aside.places {
		if its, ok := places[id]; ok && its.arrived <= arrived {
			delete(places, id)
			q.aside.noted.add(q.entryOf(id, silent{}))
		}
	}
}

// setAside sets aside a place that is in the line, if there is room.
func (q *zoneQueue) setAside(now int64, p line.Place) {
	a := &q.aside
	if q.settings.KeepPlaceSeconds == 0 || a.count() >= q.settings.MostAside() {
		return
	}
	its := silent{now, q.byID[p.ID], p.ArrivedAtMicros}
	a.put(p.ID, its)
	a.noted.add(q.entryOf(p.ID, its))
	q.totals.SetAside++
}

func (a *aside) put(id line.ID, its silent) {
	if a.since == 0 {
		a.since = its.atMillis
	}
	if a.places[a.filling] == nil {
		a.places[a.filling] = make(map[line.ID]silent)
	}
	a.places[a.filling][id] = its
}

// entryOf is the record of a place: since when it is set aside, where it stands, its arrival, and the epoch. One of 0 is set aside no
// more; with no id, no place is.
func (q *zoneQueue) entryOf(id line.ID, its silent) entry {
	return entry{q.settings.ZoneID, id, [4]int64{its.atMillis, its.stands, its.arrived, int64(q.epoch)}}
}

// takeAside brings in the places that are set aside, as the journal tells.
func (s *Store) takeAside(asides []entry) {
	for _, e := range asides {
		q, n := s.queues[e.zoneID], e.numbers
		if q == nil || n[3] != int64(q.epoch) {
			continue
		}
		for _, places := range q.aside.places {
			delete(places, e.id)
		}
		if e.id == (line.ID{}) {
			q.aside = aside{}
		}
		if n[0] > 0 && n[0]+q.settings.KeepPlace().Milliseconds() >= q.clock.NowMicros/1000 {
			q.aside.put(e.id, silent{n[0], n[1], n[2]})
		}
	}
}

// comeBack has a visitor stand in the line again whose place is set aside. It returns nil if none is.
func (q *zoneQueue) comeBack(t *transaction, id line.ID) *record {
	for _, places := range q.aside.places {
		its, ok := places[id]
		delete(places, id)
		if ok {
			q.aside.noted.add(q.entryOf(id, silent{}))
		}
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
