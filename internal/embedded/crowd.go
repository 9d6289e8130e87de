package embedded

import (
	"sync"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// crowd is one zone: its settings, its line and its log of admissions. Every
// operation is one turn under one lock; zones share nothing.
type crowd struct {
	mu sync.Mutex
	// ended: the zone was deleted.
	ended    bool
	settings zone.Settings
	rates    window.Rates
	// ttls are those that held for earlier admissions.
	ttls lifetimes

	clock window.Clock
	epoch uint32
	// seen is until when the line is kept to have stood, in milliseconds.
	seen int64
	line queue
	// byID finds the arrival of one who joins again.
	byID map[line.ID]int64
	// live are the live released, in order of arrival.
	live     queue
	due      appointments
	log      admissions
	edge     int64
	last     int64 // newest arrival
	passed   int64 // of those the edge reached lately ...
	present  int64 // ... were there
	shows    window.Shows
	totals   line.Totals
	waits    []int64 // by window.WaitBucket
	phantoms window.Phantoms
	heal     healing
}

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

// turn is what a call knows of the zone when it begins.
type turn struct {
	now      int64 // milliseconds
	before   int64 // the time of the turn before this one
	room     int64
	inWindow int64
	inMinute int64
	frozen   bool
}

func (c *crowd) set(s zone.Settings) {
	if s.PassTTLSeconds != c.settings.PassTTLSeconds && c.settings.ZoneID != "" {
		now := c.clock.NowMicros / 1000
		c.ttls = c.ttls.replace(c.settings.PassTTLSeconds*1000, s.PassTTLSeconds*1000, now)
	}
	c.settings, c.rates = s, window.RatesOf(s)
}

// expires is when an admission's pass expires, in Unix milliseconds.
func (c *crowd) expires(atMillis int64) int64 {
	return atMillis + c.ttls.of(atMillis, c.settings.PassTTLSeconds*1000)
}

// lose notes that admissions and places may have been lost: the window counts
// as full, and places up to now are put back. The line is known to have stood until
// alive.
func (c *crowd) lose(now, alive int64) {
	c.phantoms = window.Phantoms{
		AtMillis: now, WindowMillis: c.rates.WindowMillis,
		Limit: c.rates.Limit + c.settings.Burst, PerMinute: c.rates.PerMinute,
	}
	if c.heal.until <= now {
		// Who left in an earlier healing may have come back since.
		c.heal.after, c.heal.gone, c.heal.anyEpoch = c.last, nil, false
	}
	if c.heal.back(now, c.settings) {
		alive = min(alive, c.heal.alive)
	}
	c.heal.alive = alive
	c.last = max(c.last, c.clock.NowMicros)
	c.heal.upTo = c.last
	c.heal.until = now + window.HealMillis
}

// begin moves the clock and the edge on.
func (c *crowd) begin(rawMicros int64) turn {
	before := c.clock.NowMicros / 1000
	c.clock = c.clock.Tick(rawMicros)
	t := turn{now: c.clock.NowMicros / 1000, before: before}
	c.refill(&t)
	t.frozen = t.now < c.heal.freeze && (c.heal.any || t.now <= c.phantoms.AtMillis+c.rates.WindowMillis)
	c.takeOffLate(t.now)
	target := c.rates.Target
	if t.frozen {
		target = min(target, c.rates.Back(t.now-(c.heal.freeze-window.FreezeMillis))-c.totals.Admitted)
	}
	c.moveEdge(t.now, target)
	return t
}

// refill counts the slots. An entry leaves the window when it is older than
// the window, not when it is as old: so even a closed interval holds the limit.
func (c *crowd) refill(t *turn) {
	from, minute := t.now-c.rates.WindowMillis, t.now-window.MinuteMillis
	t.inWindow = sum(c.since(from))
	t.inMinute = sum(c.since(minute))
	t.room = c.rates.Room(t.inWindow, t.inMinute)
}

// since counts the admissions at or after the time: how many phantoms, and how
// many of the latest in the log.
func (c *crowd) since(millis int64) (phantoms, logged int64) {
	return c.phantoms.Beside(millis, c.log.since(millis), c.log.since(max(millis, c.phantoms.AtMillis)))
}

func sum(a, b int64) int64 { return a + b }

// maxStale is how many appointments one call looks at, stale ones included.
const maxStale = 20 * window.StepBatch

// takeOffLate ends the liveness of those who missed their appointment.
func (c *crowd) takeOffLate(now int64) {
	// Stale entries are cheap, but whoever polls in a tight loop makes many.
	for n, looked := 0, 0; n < window.StepBatch && looked < maxStale; looked++ {
		a, ok := c.due.late(now - window.GraceMillis)
		if !ok {
			return
		}
		r := c.line.find(a.place)
		if r == nil || !r.live() || r.due() != a.due {
			continue // stale
		}
		r.setLive(false)
		c.live.remove(a.place)
		c.present = max(0, c.present-1)
		c.shows = c.shows.Miss(c.rates)
		n++
	}
}

// moveEdge releases until enough are live.
func (c *crowd) moveEdge(now, target int64) {
	n := 0
	c.line.ascend(c.edge, func(r *record) bool {
		if r.arrived == c.edge {
			// Released with the one before: places of two lost lines, the
			// clock having been set back between them, may coincide.
			return true
		}
		if n == window.StepBatch || c.shows.Expect(int64(c.live.len()), c.rates) >= target {
			return false
		}
		n++
		c.edge = r.arrived
		c.passed++
		if r.due()+window.GraceMillis >= now {
			c.present++
			c.enliven(r)
		}
		if c.passed >= max(64, 4*c.rates.Limit) {
			c.passed, c.present = c.passed/2, c.present/2
		}
		return true
	})
}

func (c *crowd) enliven(r *record) {
	r.setLive(true)
	c.live.insert(record{arrived: r.arrived, id: r.id})
	c.due.put(r.due(), r.place())
}

// admit lets the visitor in and counts it. The place is as its token names it.
func (c *crowd) admit(t *turn, p line.Place) line.Answer {
	c.forget(p)
	c.log.add(p.ID, t.now)
	c.totals.Admitted++
	c.waited(t.now - p.ArrivedAtMicros/1000)
	t.inWindow++
	t.inMinute++
	t.room = c.rates.Room(t.inWindow, t.inMinute)
	return line.Answer{
		Status: line.Admitted, Place: p,
		AdmittedAtMillis: t.now, ExpiresAtMillis: c.expires(t.now), AheadMillis: c.clock.AheadMillis(t.now),
	}
}

// waited counts how long one who is let in has waited.
func (c *crowd) waited(millis int64) {
	bucket := window.WaitBucket(millis)
	for len(c.waits) <= bucket {
		c.waits = append(c.waits, 0)
	}
	c.waits[bucket]++
}

// forget takes the visitor out of the line, if it is in, for good.
func (c *crowd) forget(p line.Place) bool {
	c.bury(p)
	p = c.actual(p)
	if !c.line.remove(p) {
		return false
	}
	c.live.remove(p)
	delete(c.byID, p.ID)
	return true
}

// bury notes that the place must not be put back.
func (c *crowd) bury(p line.Place) {
	if p.ArrivedAtMicros > c.heal.after && p.ArrivedAtMicros <= c.heal.upTo {
		if c.heal.gone == nil {
			c.heal.gone = make(map[line.ID]int64)
		}
		c.heal.gone[p.ID] = max(c.heal.gone[p.ID], p.ArrivedAtMicros)
	}
}

// heals reports whether the unknown place was lost rather than given up.
func (c *crowd) heals(t turn, p line.Place) bool {
	if !c.fresh(t, p) {
		return false
	}
	if p.ArrivedAtMicros > c.last {
		// Newer than anything this store has given out, and signed: there
		// was a store that gave it out, and others up to now.
		c.lose(t.now, t.before)
		c.last = max(c.last, p.ArrivedAtMicros)
		c.heal.upTo = c.last
		return true
	}
	if t.now >= c.heal.until || p.ArrivedAtMicros <= c.heal.after || p.ArrivedAtMicros > c.heal.upTo {
		return false
	}
	return p.ArrivedAtMicros > c.heal.gone[p.ID]
}

// fresh reports whether the token is of these data, and its visitor had not fallen
// silent when the line was last known to stand. Tokens of version 1 do not say so;
// they are believed while the line goes on that was begun with them.
func (c *crowd) fresh(t turn, p line.Place) bool {
	return c.epoch == 0 ||
		c.sameData(t, p) && !window.Silent(p.DueMillis, c.heal.alive, c.settings)
}

// sameData reports whether the place was taken in these data. While nobody remembers
// the epoch of what was lost, any will do.
func (c *crowd) sameData(t turn, p line.Place) bool {
	return c.epoch == 0 || p.Epoch == c.epoch || c.heal.anyEpoch && t.now < c.heal.until
}

// recall takes in that a visitor is gone, which this store may have lost: the place
// does not come back, and an admission is known again while its pass is good.
func (c *crowd) recall(t turn, d line.Departure) {
	if !c.sameData(t, d.Place) {
		return
	}
	if at, waits := c.byID[d.Place.ID]; waits && at > d.Place.ArrivedAtMicros {
		c.bury(d.Place) // joined anew since
	} else {
		c.forget(d.Place)
	}
	if _, known := c.log.find(d.Place.ID); !known && d.AdmittedAtMillis > 0 && d.AdmittedAtMillis <= t.now &&
		c.expires(d.AdmittedAtMillis) > t.now {
		c.log.insert(d.Place.ID, d.AdmittedAtMillis)
	}
}

// before answers one who was admitted already.
func (c *crowd) before(t turn, p line.Place) (line.Answer, bool) {
	at, ok := c.log.find(p.ID)
	if !ok || c.expires(at) <= t.now {
		return line.Answer{}, false
	}
	return line.Answer{
		Status: line.AdmittedBefore, Place: p,
		AdmittedAtMillis: at, ExpiresAtMillis: c.expires(at), AheadMillis: c.clock.AheadMillis(at),
	}, true
}

func (c *crowd) join(t turn, id line.ID, former []line.ID) (line.Answer, turn) {
	for i := -1; i < len(former); i++ {
		known := id
		if i >= 0 {
			known = former[i]
		}
		if arrived, ok := c.byID[known]; ok {
			return c.poll(t, line.Place{ID: known, ArrivedAtMicros: arrived})
		}
		if a, ok := c.before(t, line.Place{ID: known}); ok {
			// The log keeps no arrivals. Any will do that was given out:
			// one newer than the newest would look like a loss.
			a.Place.ArrivedAtMicros = min(a.AdmittedAtMillis*1000, c.last)
			return a, t
		}
	}
	if c.settings.Mode == zone.ModeClosed {
		return line.Answer{Status: line.Closed}, t
	}
	if c.epoch == 0 && c.line.len() == 0 && t.now >= c.heal.until {
		c.epoch = window.Epoch(c.clock.NowMicros)
	}
	arrived := max(c.clock.NowMicros, c.last+1)
	p := line.Place{ID: id, ArrivedAtMicros: arrived}
	if c.settings.Mode == zone.ModeOpen || c.straightIn(t) {
		c.last = arrived
		c.totals.Joined++
		return c.admit(&t, p), t
	}
	if c.settings.MaxWaiting > 0 && int64(c.line.len()) >= c.settings.MaxWaiting {
		return line.Answer{Status: line.Full}, t
	}
	c.last = arrived
	c.totals.Joined++
	return c.wait(t, c.put(p), p), t
}

// straightIn reports whether a newcomer need not line up: all who wait are
// released, and there is room for each live one of them and for one more.
func (c *crowd) straightIn(t turn) bool {
	if t.frozen || c.line.len() > 0 && c.line.upTo(c.edge) < int64(c.line.len()) {
		return false
	}
	room := t.room
	if c.live.len() == 0 {
		room = min(c.rates.Limit+c.settings.Burst-t.inWindow, c.rates.PerMinute-t.inMinute)
	}
	return int64(c.live.len()) < room
}

func (c *crowd) put(p line.Place) *record {
	if c.byID == nil {
		c.byID = make(map[line.ID]int64)
	}
	c.byID[p.ID] = p.ArrivedAtMicros
	c.line.insert(record{arrived: p.ArrivedAtMicros, id: p.ID})
	return c.line.find(p)
}

// poll answers the visitor with that id. The arrival in its token only says
// where to put back one who is unknown; whoever has a place has one place,
// whichever token is shown.
func (c *crowd) poll(t turn, p line.Place) (line.Answer, turn) {
	r := c.line.find(p)
	if r == nil {
		r = c.line.find(c.actual(p))
	}
	restored := false
	if r == nil {
		if a, ok := c.before(t, p); ok {
			return a, t
		}
		if !c.heals(t, p) {
			return line.Answer{Status: line.Gone}, t
		}
		c.refill(&t)
		r, restored = c.put(p), true
		c.heal.any = true
		c.totals.Restored++
	} else if p.DueMillis < t.now-window.GraceMillis {
		// The token may be of an earlier place: it is renewed as that of this one.
		p.ArrivedAtMicros = r.arrived
	}
	if c.settings.Mode == zone.ModeOpen {
		a := c.admit(&t, p)
		a.Restored = restored
		return a, t
	}
	if r.arrived <= c.edge {
		if !r.live() {
			c.enliven(r)
			c.present = min(c.present+1, c.passed)
			c.shows = c.shows.Return()
		}
		if c.live.rank(r.place()) < c.rates.Reach(t.room) {
			c.shows = c.shows.Keep(c.rates)
			a := c.admit(&t, p)
			a.Restored = restored
			return a, t
		}
	}
	a := c.wait(t, r, p)
	a.Restored = restored
	return a, t
}

// wait tells a waiting visitor, whose token names p, how long, and when to poll.
func (c *crowd) wait(t turn, r *record, p line.Place) line.Answer {
	rank := c.line.rank(r.place())
	a := line.Answer{Status: line.Waiting, Place: p, Position: rank + 1}
	if r.arrived <= c.edge {
		opens := c.opens(t, c.shows.Expect(c.live.rank(r.place()), c.rates))
		a.EstimateMillis = min(opens-t.now, window.MaxEstimateMillis)
		a.PeriodMillis = c.rates.AppointmentPeriod(opens-t.now, c.shows)
	} else {
		far := rank - c.line.upTo(c.edge)
		a.EstimateMillis = c.rates.Estimate(c.shows.Expect(int64(c.live.len()), c.rates), far, t.room, c.present, c.passed)
		a.PeriodMillis = c.rates.FarPeriod(a.EstimateMillis, t.now-p.ArrivedAtMicros/1000, window.Jitter(p.ID[7], t.now))
	}
	r.poll(t.now, a.PeriodMillis)
	if r.live() {
		c.due.put(r.due(), r.place())
	}
	return a
}

// opens is when the slot opens for one with that many live released ahead.
func (c *crowd) opens(t turn, ahead int64) int64 {
	if c.rates.PerMinute == 0 {
		return t.now + window.MaxEstimateMillis
	}
	slot := func(span, limit, in int64) int64 {
		j := ahead - (limit - in)
		if j < 0 {
			return t.now
		}
		lost, logged := c.since(t.now - span)
		from := int64(len(c.log.entries)) - logged
		return window.Opens(j, t.now, span, limit, c.phantoms, lost, logged,
			func(i int64) int64 { return c.log.entries[from+i].atMillis })
	}
	return max(
		slot(c.rates.WindowMillis, c.rates.Limit, t.inWindow),
		slot(window.MinuteMillis, c.rates.PerMinute, t.inMinute))
}

func (c *crowd) leave(p line.Place) {
	if c.forget(p) {
		c.totals.Left++
	}
}

// actual is where the visitor with that id stands. It differs from what its
// token says only if it was swept and joined again under the same clientId and
// shows the old token.
func (c *crowd) actual(p line.Place) line.Place {
	if arrived, ok := c.byID[p.ID]; ok {
		p.ArrivedAtMicros = arrived
	}
	return p
}

// state is the zone as the turn left it.
func (c *crowd) state(t turn) line.State {
	return line.State{
		NowMillis: t.now, EdgeMicros: c.edge, LastArrivalMicros: c.last,
		Waiting: int64(c.line.len()), Released: c.line.upTo(c.edge), Live: int64(c.live.len()),
		InWindow: t.inWindow, InMinute: t.inMinute, WindowLimit: c.rates.Limit,
		EdgePassed: c.passed, EdgeLive: c.present,
		Epoch: c.epoch, LostAtMillis: max(0, c.heal.until-window.HealMillis),
	}
}
