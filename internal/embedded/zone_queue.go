package embedded

import (
	"sync"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// zoneQueue is one zone: its settings, its line and its log of admissions. Every
// operation is one transaction under one lock; zones share nothing.
type zoneQueue struct {
	mu sync.Mutex
	// ended says that the zone was deleted.
	ended    bool
	settings zone.Settings
	// mode, rates and gate are those in force.
	mode zone.Mode
	gate event.Gate
	// base are the rates by the settings; rates are those of the transaction: slower while the cap is full.
	base, rates window.Rates

	clock window.Clock
	// clockSet is by how much the store's clock had been set forward, in microseconds.
	clockSet int64
	epoch    uint32
	// seen is when the line was last known to stand, as zones.json has it, in milliseconds.
	seen int64
	line ranking
	// byID is where each visitor stands, in microseconds; a visitor who joins again is found by
	// it. arrived is the arrival of those visitors whom a draw gave another place to stand.
	byID    map[line.ID]int64
	arrived map[line.ID]int64
	// live are the live released, in order of arrival. due are the same visitors, in order of
	// when they are expected: their arrived there is that time, in milliseconds.
	live     ranking
	due      ranking
	log      admissions
	edge     int64
	last     int64 // newest arrival
	passed   int64 // how many visitors the edge reached lately
	present  int64 // how many of these were live
	shows    window.Shows
	totals   line.Totals
	waits    []int64 // by window.WaitBucket
	peak     window.Peak
	phantoms window.Phantoms
	heal     healing
	aside    aside
	in       inside
	// doing is the transaction under way. It is part of the zone so that a poll allocates nothing.
	doing transaction
}

// transaction is one operation on a zone, with what holds at its time.
type transaction struct {
	now      int64 // milliseconds
	before   int64 // the time of the previous transaction
	room     int64
	inWindow int64
	inMinute int64
	frozen   bool
	// hold is for how long nobody is admitted yet, in milliseconds: an event is to open. 0 for none.
	hold           int64
	settles, opens int64
	// gathers says that people gather, so that nobody is told a position.
	gathers bool
	// inside is how many are inside, cap for how many there is room. full: there is less than a window's worth of room.
	// Stays that end at from or earlier are over; from is in milliseconds.
	inside, cap, from int64
	full              bool
}

func (q *zoneQueue) set(s zone.Settings) {
	was, force := q.settings, s.InForce()
	q.settings, q.mode, q.base, q.gate = s, force.Mode, window.RatesOf(force), s.Gate()
	q.rates = q.base
	q.setCap(was, q.clock.NowMicros/1000)
}

// stepped is by how many microseconds the clock must have been set forward at once to count. Less lets nobody in earlier
// than a reply takes.
const stepped = 10_000

// begin begins a transaction: it moves the clock on, takes off the late and moves the edge. set is by how much the clock
// was set forward in all, in microseconds. If that has grown, the latest admissions are not as old as the clock says, and
// the window counts as full.
func (q *zoneQueue) begin(rawMicros, set int64) *transaction {
	before := q.clock.NowMicros / 1000
	t := &q.doing
	*t = transaction{now: q.tick(rawMicros), before: before}
	if t.gathers = q.gate.Gathers(t.now); q.gate.Holds(t.now) {
		t.settles, t.opens = q.gate.SettlesAtMillis, q.gate.OpensAtMillis
		t.hold = t.opens - t.now
	}
	q.endStays(t)
	if set-q.clockSet > stepped {
		q.fill(t.now)
	}
	q.clockSet = set
	q.refill(t)
	if t.gathers {
		return t
	}
	t.frozen = t.now < q.heal.freeze && (q.heal.any || t.now <= q.phantoms.AtMillis+q.rates.WindowMillis)
	q.takeOffLate(t.now)
	target := q.rates.Target
	if t.frozen {
		target = min(target, q.rates.Back(t.now-(q.heal.freeze-window.FreezeMillis))-(q.totals.Admitted-q.heal.admitted))
	}
	q.moveEdge(t.now, target)
	return t
}

// tick moves the clock on, and returns the zone's time in milliseconds.
func (q *zoneQueue) tick(rawMicros int64) int64 {
	last := q.clock.NowMicros / 1000
	q.clock = q.clock.Tick(rawMicros)
	now := q.clock.NowMicros / 1000
	if q.capped() && last > 0 && now-last > window.QuietMillis {
		q.in.quietAt, q.in.quietUntil = last, now+window.QuietMillis
	}
	return now
}

// refill counts the admissions and the room. An admission leaves the window when it is
// older than the window, not when it is just as old. So even a closed interval holds the limit.
func (q *zoneQueue) refill(t *transaction) {
	t.inWindow, t.inMinute = q.admittedSince(t.now-q.rates.WindowMillis), q.admittedSince(t.now-window.MinuteMillis)
	q.cap(t)
	if t.room = min(q.rates.Room(t.inWindow, t.inMinute), t.cap); t.hold > 0 {
		t.room = 0
	}
}

// roomInLine is the room for visitors in the line, for whom the limit of a second holds, too.
func (q *zoneQueue) roomInLine(t *transaction) int64 {
	if t.room <= 0 || q.rates.PerSecond == q.rates.Limit {
		return t.room
	}
	return min(t.room, q.rates.PerSecond-q.admittedSince(t.now-window.SecondMillis))
}

// since counts the admissions at or after the time: phantoms, and entries in the log. The
// latter are the latest of the log.
func (q *zoneQueue) since(millis int64) (phantoms, logged int64) {
	return q.phantoms.Beside(millis, q.log.since(millis), q.log.since(max(millis, q.phantoms.AtMillis)))
}

// admittedSince counts the admissions at or after the time, phantoms included.
func (q *zoneQueue) admittedSince(millis int64) int64 {
	phantoms, logged := q.since(millis)
	return phantoms + logged
}

// takeOffLate makes those overdue who missed their appointment, at most StepBatch of them.
func (q *zoneQueue) takeOffLate(now int64) {
	for range window.StepBatch {
		late := q.due.first()
		if late == nil || late.arrived >= now-window.GraceMillis {
			return
		}
		q.dropLive(q.line.find(q.actual(late.place())))
		q.present = max(0, q.present-1)
		q.shows = q.shows.Miss(q.rates)
	}
}

// moveEdge releases visitors until target live ones are expected to come, at most StepBatch of them.
func (q *zoneQueue) moveEdge(now, target int64) {
	n := 0
	q.line.ascend(q.edge, func(r *record) bool {
		if r.arrived == q.edge {
			// The place was released with one of the same arrival. Places of two
			// lost lines may have one if the clock was set back in between.
			return true
		}
		if n == window.StepBatch || q.shows.Expect(int64(q.live.len()), q.rates) >= target {
			return false
		}
		n++
		q.edge = r.arrived
		q.passed++
		if r.due()+window.GraceMillis >= now {
			q.present++
			q.addLive(r)
		}
		if q.passed >= max(64, 4*q.rates.Limit) {
			q.passed, q.present = q.passed/2, q.present/2
		}
		return true
	})
}

func (q *zoneQueue) addLive(r *record) {
	r.setLive(true)
	q.live.insert(record{arrived: r.arrived, id: r.id})
	q.due.insert(record{arrived: r.due(), id: r.id})
}

func (q *zoneQueue) dropLive(r *record) {
	q.live.remove(r.place())
	q.due.remove(line.Place{ID: r.id, ArrivedAtMicros: r.due()})
	r.setLive(false)
}

// admit lets the visitor in, and counts that. p is the place as its token names it.
func (q *zoneQueue) admit(t *transaction, p line.Place) line.Answer {
	q.forget(p)
	pass := pass{t.now, t.now + q.settings.PassTTL().Milliseconds()}
	q.log.add(p.ID, pass)
	q.totals.Admitted++
	_, inSecond := q.since(t.now - window.SecondMillis)
	q.peak = q.peak.See(t.now, inSecond)
	q.waits = countWait(q.waits, t.now-q.gate.WaitsSince(p.ArrivedAtMicros/1000, t.now))
	q.enterInside(t, line.Admission{ID: p.ID, AtMillis: t.now}, pass.expiresMillis)
	t.inWindow++
	t.inMinute++
	t.room = min(q.rates.Room(t.inWindow, t.inMinute), t.cap)
	a := q.admission(line.Admitted, p, pass)
	a.Number = q.totals.Admitted
	return a
}

// admission returns the answer to a visitor who is admitted now, or was before.
func (q *zoneQueue) admission(status line.Status, p line.Place, pass pass) line.Answer {
	p.ScoreMicros, p.AdmittedAtMillis = 0, 0
	return line.Answer{
		Status: status, Place: p,
		AdmittedAtMillis: pass.atMillis, ExpiresAtMillis: pass.expiresMillis, AheadMillis: q.clock.AheadMillis(pass.atMillis),
	}
}

// forget takes the visitor out of the line for good. The place may be a later one than that of p.
func (q *zoneQueue) forget(p line.Place) {
	arrived, _ := q.arrival(p.ID)
	q.bury(p.ID, max(p.ArrivedAtMicros, arrived))
	r := q.line.find(q.actual(p))
	if r == nil {
		return
	}
	if r.live() {
		q.dropLive(r)
	}
	q.line.remove(r.place())
	delete(q.byID, p.ID)
	delete(q.arrived, p.ID)
}

// leave gives up the place of a token, or ends the admission that the token names. Whatever else the visitor has by now stays.
func (q *zoneQueue) leave(t *transaction, p line.Place) {
	if arrived, waits := q.arrival(p.ID); waits && arrived == p.ArrivedAtMicros {
		q.forget(p)
		q.totals.Left++
	} else {
		q.bury(p.ID, p.ArrivedAtMicros)
		q.giveUpAside(p.ID, p.ArrivedAtMicros)
	}
	q.endAdmission(t, line.Admission{ID: p.ID, AtMillis: p.AdmittedAtMillis})
}

// before returns the answer to a visitor who was admitted before. ok is false if that is not
// known, or if the pass has expired.
func (q *zoneQueue) before(t *transaction, p line.Place) (line.Answer, bool) {
	pass := q.log.byID[p.ID]
	if pass.expiresMillis <= t.now || pass.atMillis <= q.settings.InsideState.RevokedUpToMillis {
		return line.Answer{}, false
	}
	return q.admission(line.AdmittedBefore, p, pass), true
}

func (q *zoneQueue) join(t *transaction, drawn event.Drawn, id line.ID) line.Answer {
	q.comeBack(t, id)
	if !q.gate.SameDraw(drawn) {
		drawn = event.Drawn{}
	}
	if arrived, ok := q.arrival(id); ok {
		return q.poll(t, line.Place{ID: id, ArrivedAtMicros: arrived, ScoreMicros: drawn.ScoreMicros})
	}
	if a, ok := q.before(t, line.Place{ID: id}); ok {
		// The log keeps no arrivals. Any will do, unless it is newer than the
		// newest that was given out, which would look like a loss.
		a.Place.ArrivedAtMicros = min(a.AdmittedAtMillis*1000, q.last)
		return a
	}
	if q.mode == zone.ModeClosed {
		return line.Answer{Status: line.Closed}
	}
	draws := q.gate.DrawOpenAt(t.now)
	if draws && drawn.ScoreMicros == 0 {
		return line.Answer{Status: line.Undrawn}
	}
	enters := t.hold == 0 && (q.mode == zone.ModeOpen || q.straightIn(t))
	if !enters && q.settings.MaxWaiting > 0 && int64(q.line.len()) >= q.settings.MaxWaiting {
		return line.Answer{Status: line.Full}
	}
	if !enters {
		if wait, long := q.tooLong(t); long {
			return line.Answer{Status: line.TooLong, WaitMillis: wait}
		}
	}
	p := q.arrive(draws, line.Place{ID: id, ScoreMicros: drawn.ScoreMicros})
	q.totals.Joined++
	if enters {
		return q.admit(t, p)
	}
	return q.wait(t, q.put(p), p)
}

// arrive returns the place of one who arrives now: where a draw says, or at the end of the line.
func (q *zoneQueue) arrive(draws bool, p line.Place) line.Place {
	if q.last = max(q.clock.NowMicros, q.last+1); !draws {
		// The visitor stands behind all who were drawn, even if the opening was moved to an earlier time.
		q.last, p.ScoreMicros = q.gate.Behind(q.last), 0
	}
	p.ArrivedAtMicros, p.Told = q.last, 0
	return p
}

// placeAnew has a visitor arrive now who came before people gathered for a draw, so that nobody stands before all who gather. ok is
// false if the draw is open, and p has no score of it.
func (q *zoneQueue) placeAnew(t *transaction, p line.Place) (anew line.Place, ok bool) {
	draws := q.gate.DrawOpenAt(t.now)
	if draws && !q.gate.Scores(p.ScoreMicros) {
		return p, false
	}
	q.forget(p)
	return q.arrive(draws, p), true
}

// tooLong returns how long a newcomer at the end of the line would wait, in milliseconds, and whether that is more than the
// zone allows. The time until an event opens does not count. While people gather they have no order, and while the zone is
// paused no wait can be expected.
func (q *zoneQueue) tooLong(t *transaction) (wait int64, long bool) {
	most := q.settings.MaxWait().Milliseconds()
	if most == 0 || t.gathers || q.rates.PerMinute == 0 {
		return 0, false
	}
	wait = q.estimate(t, int64(q.line.len())-q.line.upTo(q.edge)) - t.hold
	return wait, wait > most
}

// straightIn reports whether a newcomer need not line up: all who wait are
// released, and there is room for each live one of them and for one more.
func (q *zoneQueue) straightIn(t *transaction) bool {
	if t.frozen || q.line.len() > 0 && q.line.upTo(q.edge) < int64(q.line.len()) {
		return false
	}
	if q.live.len() == 0 {
		return min(q.rates.Limit+q.settings.Burst-t.inWindow, q.rates.PerMinute-t.inMinute, t.cap) > 0
	}
	return int64(q.live.len()) < q.roomInLine(t)
}

func (q *zoneQueue) put(p line.Place) *record {
	if q.byID == nil {
		q.byID = make(map[line.ID]int64)
	}
	at := standing(p)
	q.byID[p.ID] = at.ArrivedAtMicros
	if at.ArrivedAtMicros != p.ArrivedAtMicros {
		if q.arrived == nil {
			q.arrived = make(map[line.ID]int64)
		}
		q.arrived[p.ID] = p.ArrivedAtMicros
	}
	q.line.insert(record{arrived: at.ArrivedAtMicros, id: p.ID})
	return q.line.find(at)
}

// standing returns the place as the ranking has it, in which the arrival is where it stands.
func standing(p line.Place) line.Place {
	return line.Place{ID: p.ID, ArrivedAtMicros: p.StandsAtMicros()}
}

// arrival returns the arrival of the visitor with that id, and whether it is in the line.
func (q *zoneQueue) arrival(id line.ID) (micros int64, waits bool) {
	at, waits := q.byID[id]
	if arrived, drawn := q.arrived[id]; drawn {
		at = arrived
	}
	return at, waits
}

// poll answers the visitor with the id of p. A visitor in the line has one place, whichever
// token is shown. The arrival in the token only says where to put back a visitor who is
// unknown.
func (q *zoneQueue) poll(t *transaction, p line.Place) line.Answer {
	r := q.line.find(standing(p))
	if r == nil {
		r = q.line.find(q.actual(p))
	}
	if r == nil {
		r = q.comeBack(t, p.ID)
	}
	restored := r == nil
	switch {
	case restored:
		if a, ok := q.before(t, p); ok {
			return a
		}
		var status line.Status
		if r, p, status = q.restore(t, p); r == nil {
			return line.Answer{Status: status}
		}
	case q.gate.Outdates(r.arrived, t.now):
		anew, ok := q.placeAnew(t, p)
		if !ok {
			return line.Answer{Status: line.Undrawn}
		}
		r, p = q.put(anew), anew
	case p.DueMillis < t.now-window.GraceMillis, q.gate.Outdates(p.ArrivedAtMicros, t.now):
		// The token is old, and may name an earlier place. The answer names the present one.
		if at, _ := q.arrival(p.ID); at != p.ArrivedAtMicros {
			p.ArrivedAtMicros, p.Told = at, 0
		}
	}
	var a line.Answer
	if t.hold == 0 && q.mode == zone.ModeOpen || q.itsTurn(t, r) {
		a = q.admit(t, p)
	} else {
		a = q.wait(t, r, p)
	}
	a.Restored = restored
	return a
}

// restore puts a visitor back whose place was lost. r is nil, and the status says why, if there was none, or if a draw gives the place
// and p has no score of it.
func (q *zoneQueue) restore(t *transaction, p line.Place) (r *record, is line.Place, status line.Status) {
	if !q.wasLost(t, p) {
		return nil, p, line.Gone
	}
	stands, took := p, q.gate.TookPart(p.ArrivedAtMicros)
	switch {
	case took && !q.gate.Scores(p.ScoreMicros):
		return nil, p, line.Undrawn
	case !took && q.gate.Outdates(p.ArrivedAtMicros, t.now):
		anew, ok := q.placeAnew(t, p)
		if !ok {
			return nil, p, line.Undrawn
		}
		stands, p = anew, anew
	case p.StandsAtMicros() <= q.edge && p.DueMillis+q.settings.IdleTimeout().Milliseconds() < q.heal.alive: // it had been set aside
		stands.ScoreMicros = q.overdueStand(p.StandsAtMicros())
	}
	q.refill(t)
	q.heal.any = true
	q.totals.Restored++
	return q.put(stands), p, line.Waiting
}

// itsTurn reports whether a visitor in the line may enter. An overdue one counts as live from
// then on.
func (q *zoneQueue) itsTurn(t *transaction, r *record) bool {
	if t.gathers || r.arrived > q.edge {
		return false
	}
	if !r.live() {
		q.addLive(r)
		q.present = min(q.present+1, q.passed)
		q.shows = q.shows.Return()
	}
	if q.live.rank(r.place()) >= q.rates.Reach(q.roomInLine(t)) {
		return false
	}
	q.shows = q.shows.Keep(q.rates)
	return true
}
