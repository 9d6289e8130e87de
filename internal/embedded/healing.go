package embedded

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// healing says whose unknown places are put back: those who arrived after and
// up to before, until the time (microseconds and milliseconds).
type healing struct {
	after, upTo, until int64
	// alive is until when the line is known to have stood, in milliseconds: who was
	// due more than the idle timeout before that had fallen silent.
	alive int64
	// anyEpoch: nobody remembers the epoch of what was lost.
	anyEpoch bool
	// freeze is until when the edge stays, if anybody was healed.
	freeze int64
	any    bool
	// gone are those in the range who left, were swept or were admitted, with the
	// newest arrival of each.
	gone map[line.ID]int64
}

// back reports whether the latest loss is less than an idle timeout ago: not all who
// waited have had the time to come back.
func (h *healing) back(now int64, s zone.Settings) bool {
	return h.until > 0 && now < h.until-window.HealMillis+s.IdleTimeoutSeconds*1000
}

// lose notes that admissions and places may have been lost: the window counts
// as full, and places up to now and to the newest arrival are put back. The line is
// known to have stood until alive.
func (q *zoneQueue) lose(now, alive, newest int64) {
	q.phantoms = window.Phantoms{
		AtMillis: now, WindowMillis: q.rates.WindowMillis,
		Limit: q.rates.Limit + q.settings.Burst, PerMinute: q.rates.PerMinute,
	}
	if q.heal.until <= now {
		// Who left in an earlier healing may have come back since.
		q.heal.after, q.heal.gone, q.heal.anyEpoch = q.last, nil, false
	}
	if q.heal.back(now, q.settings) {
		alive = min(alive, q.heal.alive)
	}
	q.heal.alive = alive
	q.last = q.newestLost(now, newest)
	q.heal.upTo = q.last
	q.heal.until = now + window.HealMillis
}

// newestLost is what arrivals that were lost are not beyond, where those up to the newest are
// known. They are up to now; unless the clock is behind what it was, or places behind a draw
// are of a time to come.
func (q *zoneQueue) newestLost(now, newest int64) int64 {
	newest = max(newest, q.last, q.clock.NowMicros)
	if q.gate.Draws(now) {
		return newest
	}
	if newest = q.gate.Behind(newest); newest > q.clock.NowMicros || q.clock.NowMicros > q.clock.RawMicros {
		newest += window.LostMicros
	}
	return newest
}

// bury notes that the place must not be put back.
func (q *zoneQueue) bury(p line.Place) {
	if p.ArrivedAtMicros > q.heal.after && p.ArrivedAtMicros <= q.heal.upTo {
		if q.heal.gone == nil {
			q.heal.gone = make(map[line.ID]int64)
		}
		q.heal.gone[p.ID] = max(q.heal.gone[p.ID], p.ArrivedAtMicros)
	}
}

// heals reports whether the unknown place was lost rather than given up.
func (q *zoneQueue) heals(t *transaction, p line.Place) bool {
	if !q.fresh(t, p) {
		return false
	}
	if p.ArrivedAtMicros > q.last {
		// Newer than anything this store has given out, and signed: there
		// was a store that gave it out, and others up to now.
		q.lose(t.now, t.before, p.ArrivedAtMicros)
		return true
	}
	if t.now >= q.heal.until || p.ArrivedAtMicros <= q.heal.after || p.ArrivedAtMicros > q.heal.upTo {
		return false
	}
	return p.ArrivedAtMicros > q.heal.gone[p.ID]
}

// fresh reports whether the token is of these data, and its visitor had not fallen
// silent when the line was last known to stand. Tokens of version 1 do not say so;
// they are believed while the line goes on that was begun with them.
func (q *zoneQueue) fresh(t *transaction, p line.Place) bool {
	return q.epoch == 0 ||
		q.sameData(t, p) && !window.Silent(p.DueMillis, q.heal.alive, q.settings)
}

// sameData reports whether the place was taken in these data. While nobody remembers
// the epoch of what was lost, any will do.
func (q *zoneQueue) sameData(t *transaction, p line.Place) bool {
	return q.epoch == 0 || p.Epoch == q.epoch || q.heal.anyEpoch && t.now < q.heal.until
}

// recall takes in that a visitor is gone, which this store may have lost: the place
// does not come back, and an admission is known again while its pass is good.
func (q *zoneQueue) recall(t *transaction, d line.Departure) {
	if !q.sameData(t, d.Place) {
		return
	}
	if at, waits := q.arrival(d.Place.ID); waits && at > d.Place.ArrivedAtMicros {
		q.bury(d.Place) // joined anew since
	} else {
		q.forget(d.Place)
	}
	if _, known := q.log.find(d.Place.ID); !known && d.AdmittedAtMillis > 0 && d.AdmittedAtMillis <= t.now &&
		q.expires(d.AdmittedAtMillis) > t.now {
		q.log.insert(d.Place.ID, d.AdmittedAtMillis)
	}
}
