package embedded

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// healing says which unknown places are put back: those with an arrival greater than
// after and up to upTo (microseconds), as long as it is before until (milliseconds).
type healing struct {
	after, upTo, until int64
	// from is when the latest loss was noticed, in milliseconds; 0 if there was none.
	from int64
	// alive is when the line was last known to stand, in milliseconds. A visitor who
	// was due more than the idle timeout earlier had fallen silent, and is not put back.
	alive int64
	// anyEpoch says that nobody remembers the epoch of the lost data.
	anyEpoch bool
	// freeze is until when the edge moves no further than window.Rates.Back allows, in
	// milliseconds. any says that a place was put back. Without any, freeze holds for a
	// window only.
	freeze int64
	any    bool
	// admitted is Totals.Admitted before the freeze.
	admitted int64
	// gone are those who have departed since the loss, with the newest arrival of each.
	gone map[line.ID]int64
}

// back reports whether the latest loss is less than an idle timeout ago, so that not all
// who waited have had the time to come back.
func (h *healing) back(now int64, s zone.Settings) bool {
	return h.from > 0 && now < h.from+s.IdleTimeoutSeconds*1000
}

// fill has the window and the minute count as full at a time, in milliseconds.
func (q *zoneQueue) fill(now int64) {
	q.phantoms = window.Phantoms{
		AtMillis: now, WindowMillis: q.rates.WindowMillis,
		Limit: q.rates.Limit + q.settings.Burst, PerMinute: q.rates.PerMinute,
	}
}

// lose notes that admissions and places may have been lost. The window then counts as
// full, and unknown places are put back up to newestLost. now and alive, when the line was
// last known to stand, are in milliseconds; newest, the newest known arrival, is in
// microseconds.
func (q *zoneQueue) lose(now, alive, newest int64) {
	q.fill(now)
	if q.heal.until <= now {
		// The new range begins after all arrivals so far, so nobody in gone is in it.
		q.heal.after, q.heal.gone, q.heal.anyEpoch = q.last, nil, false
	}
	q.loseInside(now, alive)
	if q.heal.back(now, q.settings) {
		alive = min(alive, q.heal.alive)
	}
	q.heal.alive = alive
	q.last = q.newestLost(now, newest)
	q.heal.upTo = q.last
	q.heal.from, q.heal.until = now, now+window.HealsFor(q.settings)
}

// newestLost is an upper bound of the arrivals that were lost, in microseconds, where newest is
// the newest known one. Arrivals are not later than now, with two exceptions: the clock may be
// behind what it was, and places behind a draw have arrivals that are still to come. In both
// cases up to LostMicros of arrivals may be newer than the newest known one.
func (q *zoneQueue) newestLost(now, newest int64) int64 {
	newest = max(newest, q.last, q.clock.NowMicros)
	if q.gate.DrawOpenAt(now) {
		return newest
	}
	if newest = q.gate.Behind(newest); newest > q.clock.NowMicros || q.clock.NowMicros > q.clock.RawMicros {
		newest += window.LostMicros
	}
	return newest
}

// bury notes that no place must be put back that the visitor had by that arrival.
func (q *zoneQueue) bury(id line.ID, arrived int64) {
	if q.clock.NowMicros/1000 < q.heal.until && arrived > q.heal.after {
		if q.heal.gone == nil {
			q.heal.gone = make(map[line.ID]int64)
		}
		q.heal.gone[id] = max(q.heal.gone[id], arrived)
	}
}

// wasLost reports whether an unknown place was lost rather than given up.
func (q *zoneQueue) wasLost(t *transaction, p line.Place) bool {
	if !q.fresh(t, p) {
		return false
	}
	if p.ArrivedAtMicros > q.last {
		// The token is signed, and its arrival is newer than all that this store gave
		// out. So these data are older than those in which the place was taken, and
		// other places up to now are lost, too.
		q.lose(t.now, t.before, p.ArrivedAtMicros)
		return true
	}
	if t.now >= q.heal.until || p.ArrivedAtMicros <= q.heal.after || p.ArrivedAtMicros > q.heal.upTo {
		return false
	}
	return p.ArrivedAtMicros > q.heal.gone[p.ID]
}

// fresh reports whether the place was taken in these data, and was in the line or set aside when the line was last known
// to stand.
func (q *zoneQueue) fresh(t *transaction, p line.Place) bool {
	return q.sameData(t, p) && !window.Silent(p.DueMillis, q.heal.alive, q.settings)
}

// sameData reports whether the place was taken in these data. If nobody remembers the
// epoch of the lost data, any epoch counts while the healing lasts.
func (q *zoneQueue) sameData(t *transaction, p line.Place) bool {
	return p.Epoch == q.epoch || q.heal.anyEpoch && t.now < q.heal.until
}

// recall notes a departure that this store may have lost: the place does not come back,
// and an admission is known again while its pass is good. It stays one of those of whom it is not known whether they are
// inside: until when, its session says.
func (q *zoneQueue) recall(t *transaction, d line.Departure) {
	if !q.sameData(t, d.Place) {
		return
	}
	if at, waits := q.arrival(d.Place.ID); waits && at > d.Place.ArrivedAtMicros {
		q.bury(d.Place.ID, d.Place.ArrivedAtMicros) // the visitor has joined again since
	} else {
		q.forget(d.Place)
		q.giveUpAside(d.Place.ID, d.Place.ArrivedAtMicros)
	}
	if at := d.AdmittedAtMillis; at > q.log.byID[d.Place.ID].atMillis && at <= t.now && d.ExpiresAtMillis > t.now &&
		!q.isOver(line.Admission{ID: d.Place.ID, AtMillis: at}) {
		q.log.insert(d.Place.ID, pass{at, d.ExpiresAtMillis})
	}
}
