package embedded

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// wait tells a waiting visitor the position, the expected wait and when to poll. p is the place as
// its token names it.
func (q *zoneQueue) wait(t *transaction, r *record, p line.Place) line.Answer {
	rank := q.line.rank(r.place())
	a := line.Answer{Status: line.Waiting, Place: p, Position: rank + 1}
	a.Place.ScoreMicros, a.Place.AdmittedAtMillis = 0, 0
	switch {
	case t.gathers:
		a.Position, a.WaitMillis = 0, min(t.hold, window.MaxEstimateMillis)
		a.PeriodMillis = q.rates.GatherPeriod(window.Jitter(p.ID[7], t.now))
	case r.arrived <= q.edge:
		live := q.live.rank(r.place())
		opens := q.opens(t, q.shows.Expect(live, q.rates))
		a.WaitMillis = min(opens-t.now, window.MaxEstimateMillis)
		a.PeriodMillis = q.rates.AppointmentPeriod(opens-t.now, q.shows)
		if t.full && live < q.rates.Reach(1) {
			a.PeriodMillis = min(a.PeriodMillis, window.FrontMillis)
		}
	default:
		far := rank - q.line.upTo(q.edge)
		a.WaitMillis = q.estimate(t, far)
		a.PeriodMillis = q.rates.FarPeriod(far, a.WaitMillis, t.now-p.ArrivedAtMicros/1000, window.Jitter(p.ID[7], t.now))
	}
	if !r.live() {
		r.poll(t.now, a.PeriodMillis)
		return a
	}
	q.due.remove(line.Place{ID: r.id, ArrivedAtMicros: r.due()})
	r.poll(t.now, a.PeriodMillis)
	q.due.insert(record{arrived: r.due(), id: r.id})
	return a
}

// estimate is the expected wait, in milliseconds, of a visitor behind all live released and behind
// far visitors beyond the edge.
func (q *zoneQueue) estimate(t *transaction, far int64) int64 {
	room := t.room
	if t.hold > 0 {
		room = q.rates.Limit
	}
	return min(t.hold+q.rates.Estimate(q.shows.Expect(int64(q.live.len()), q.rates), far, room, q.present, q.passed), window.MaxEstimateMillis)
}

// opens is when the slot opens for a visitor with that many live released ahead, in Unix milliseconds.
func (q *zoneQueue) opens(t *transaction, ahead int64) int64 {
	if q.rates.PerMinute == 0 {
		return t.now + window.MaxEstimateMillis
	}
	opens := q.rates.Slot(ahead, func(ahead, span, limit int64) int64 {
		if t.hold > 0 { // limit visitors enter at the opening, as many a span later, and so on
			return t.now + min(t.hold+ahead/limit*(span+1), window.MaxEstimateMillis)
		}
		lost, logged := q.since(t.now - span)
		j := ahead - (limit - lost - logged)
		if j < 0 {
			return t.now
		}
		from := int64(len(q.log.entries)) - logged
		return window.Opens(j, t.now, span, limit, q.phantoms, lost, logged,
			func(i int64) int64 { return q.log.entries[from+i].atMillis })
	})
	if t.full && t.hold == 0 {
		opens = max(opens, q.rates.Leaves(ahead, t.cap, t.now))
	}
	return opens
}

// actual returns where the visitor of a place stands. That differs from what the token says
// only if the visitor was swept, joined again with the same clientId, and shows the old token.
func (q *zoneQueue) actual(p line.Place) line.Place {
	if stands, ok := q.byID[p.ID]; ok {
		return line.Place{ID: p.ID, ArrivedAtMicros: stands}
	}
	return standing(p)
}

// state returns the zone's state at the end of the transaction.
func (q *zoneQueue) state(t *transaction) line.State {
	longest := int64(0)
	if q.capped() {
		longest = q.longest(t.now)
	}
	return line.State{
		NowMillis: t.now, EdgeMicros: q.edge, LastArrivalMicros: q.last,
		Waiting: int64(q.line.len()), Released: q.line.upTo(q.edge), Live: int64(q.live.len()),
		InWindow: t.inWindow, InMinute: t.inMinute, WindowLimit: q.rates.Limit,
		EdgePassed: q.passed, EdgeLive: q.present,
		Inside: t.inside, InsideLost: q.in.unknown.Count, Full: t.full, LongestMillis: longest,
		Epoch: q.epoch, LostAtMillis: q.heal.from,
		SettlesAtMillis: t.settles, OpensAtMillis: t.opens,
	}
}
