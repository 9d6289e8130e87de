package conformance

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// model is one zone by the admission rule (see package window), with nothing
// but lists that are looked through from one end to the other.
type model struct {
	settings zone.Settings
	mode     zone.Mode
	rates    window.Rates
	clock    window.Clock
	now      int64 // the clock, in milliseconds
	before   int64 // what it said at the call before this one
	epoch    uint32

	waiting []*visitor  // in order of arrival
	log     []admission // all there ever were, in order of time
	edge    int64       // who arrived until then is released
	last    int64       // the newest arrival
	passed  int64       // of so many that the edge reached lately ...
	present int64       // ... so many were live
	shows   window.Shows
	totals  line.Totals
	waits   []int64
	peak    window.Peak

	phantoms window.Phantoms
	// Unknown places that arrived after healAfter and until healUpTo are put
	// back while now < healUntil, but for those in gone, and for those who had
	// fallen silent while the line is known to have stood.
	healAfter, healUpTo, healUntil int64
	healFrom                       int64 // when the latest loss was noticed
	gone                           []line.Place
	alive                          int64
	anyEpoch                       bool
	// The edge stays while now < freezeUntil: for one window, and until the
	// end if anybody was put back.
	freezeUntil int64
	healed      bool
	// aside are those who were swept, in two halves. asideHalf is filled since asideSince, 0 while there are none. The next
	// who comes back overdue stands at asideBack at the earliest.
	aside                 []silent
	asideHalf             int
	asideSince, asideBack int64
	// failedOver: the store has begun to run on another node, and has not noticed yet.
	failedOver bool
	c          crowdInside
}

type visitor struct {
	line.Place       // with a score if it was drawn
	due        int64 // when the next poll is expected, in milliseconds
	polled     int64 // when the last one came
	live       bool  // among the released
}

type admission struct {
	id          line.ID
	at, expires int64
}

// fresh is a zone as an operator makes it.
func fresh(s zone.Settings, rawMicros int64) *model {
	force := s.InForce()
	return &model{settings: s, mode: force.Mode, rates: window.RatesOf(force), epoch: window.Epoch(rawMicros)}
}

// end is the deletion of a zone: of its log, phantoms remain.
func (m *model) end(rawMicros int64) {
	m.tick(rawMicros)
	newest := m.phantoms.AtMillis
	for _, e := range m.log {
		newest = max(newest, e.at)
	}
	ago := min(m.now-newest+m.rates.WindowMillis, window.MinuteMillis)
	m.phantoms = m.rates.Remains(m.settings.Burst, newest, m.since(ago), m.since(window.MinuteMillis))
}

// anew is a zone as an operator makes it, of which there was another before.
func anew(s zone.Settings, ended *model, rawMicros int64) *model {
	m := fresh(s, rawMicros)
	m.epoch = max(m.epoch, ended.epoch+1)
	m.clock = ended.clock
	m.tick(rawMicros)
	m.last, m.phantoms = max(ended.last, m.clock.NowMicros), ended.phantoms
	m.c.over = ended.c.over
	if ended.capped() {
		m.c.longest = window.Longest{}.Change(ended.now, ended.longest(), 0)
	}
	if n := int64(len(ended.c.in)) + ended.c.unknown.Count; n > 0 {
		m.c.unknown = window.Lose(n, ended.now, ended.longest())
	}
	m.changeCap(zone.Settings{})
	return m
}

// restored is a zone that a store has lost, with what a server remembers of it.
func restored(s zone.Settings, mem line.Memory, rawMicros int64) *model {
	m := fresh(s, rawMicros)
	m.tick(rawMicros)
	m.changeCap(zone.Settings{})
	m.c.longest = m.c.longest.Change(m.now, mem.LongestMillis, m.longestIs())
	m.edge = mem.EdgeMicros
	if mem.SeenAtMillis == 0 {
		m.lose(mem.LastArrivalMicros, m.now)
		m.anyEpoch = true
	} else {
		m.lose(mem.LastArrivalMicros, mem.SeenAtMillis)
		m.epoch = mem.Epoch
	}
	m.restoreInside(mem)
	m.freezeUntil = m.now + window.FreezeMillis
	return m
}

func (m *model) tick(rawMicros int64) {
	m.before = m.now
	m.clock = m.clock.Tick(rawMicros)
	m.now = m.clock.NowMicros / 1000
	m.quiet()
}

// change is an operator's.
func (m *model) change(s zone.Settings, rawMicros int64) {
	m.tick(rawMicros)
	was, force := m.settings, s.InForce()
	m.settings, m.mode, m.rates = s, force.Mode, window.RatesOf(force)
	m.changeCap(was)
}

// begin is what happens before every call of a visitor.
func (m *model) begin(rawMicros int64) {
	m.tick(rawMicros)
	if m.failedOver {
		m.failedOver = false
		m.lose(m.last, m.before)
	}
	m.lookInside()
	if m.gathers() {
		return
	}
	late := slices.Collect(filter(m.waiting, func(v *visitor) bool {
		return v.live && v.due+window.GraceMillis < m.now
	}))
	slices.SortFunc(late, func(a, b *visitor) int {
		return cmp.Or(cmp.Compare(a.due, b.due), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, v := range late[:min(len(late), window.StepBatch)] {
		v.live = false
		m.present = max(0, m.present-1)
		m.shows = m.shows.Miss(m.rates)
	}
	target := m.rates.Target
	if m.frozen() {
		target = min(target, m.rates.Back(m.now-(m.freezeUntil-window.FreezeMillis))-m.totals.Admitted)
	}
	for range window.StepBatch {
		far := slices.IndexFunc(m.waiting, func(v *visitor) bool { return v.StandsAtMicros() > m.edge })
		if far < 0 || m.shows.Expect(m.live(), m.rates) >= target {
			return
		}
		v := m.waiting[far]
		m.edge = v.StandsAtMicros()
		m.passed++
		if v.due+window.GraceMillis >= m.now {
			v.live = true
			m.present++
		}
		if m.passed >= max(64, 4*m.rates.Limit) {
			m.passed, m.present = m.passed/2, m.present/2
		}
	}
}

func (m *model) frozen() bool {
	return m.now < m.freezeUntil && (m.healed || m.now <= m.phantoms.AtMillis+m.rates.WindowMillis)
}

func (m *model) poll(token line.Place) line.Answer {
	v, restored := m.find(token.ID), false
	if v == nil {
		v = m.comeBack(token.ID)
	}
	g := m.settings.Gate()
	missed := v != nil && g.UptoMicros > 0 && m.now >= g.GatherAtMillis && v.StandsAtMicros() < g.FromMicros // came before the draw
	switch {
	case v == nil:
		if a, ok := m.admittedBefore(token); ok {
			return a
		}
		if !m.wasLost(token) {
			return line.Answer{Status: line.Gone}
		}
		missed = g.UptoMicros > 0 && m.now >= g.GatherAtMillis && token.ArrivedAtMicros/1000 < g.GatherAtMillis
		if (g.TookPart(token.ArrivedAtMicros) || missed && g.DrawOpenAt(m.now)) && !g.Scores(token.ScoreMicros) {
			return line.Answer{Status: line.Undrawn}
		}
		if missed {
			token = m.placeAnew(token)
		}
		m.counted()
		v, restored, m.healed = &visitor{Place: token}, true, true
		if !missed && v.StandsAtMicros() <= m.edge && token.DueMillis+m.settings.IdleTimeout().Milliseconds() < m.alive {
			m.standOverdue(v)
		}
		m.put(v)
		m.totals.Restored++
	case missed:
		if g.DrawOpenAt(m.now) && !g.Scores(token.ScoreMicros) {
			return line.Answer{Status: line.Undrawn}
		}
		token = m.placeAnew(token)
		v = &visitor{Place: token}
		m.put(v)
	case (token.DueMillis < m.now-window.GraceMillis || g.Outdates(token.ArrivedAtMicros, m.now)) && token.ArrivedAtMicros != v.ArrivedAtMicros:
		token.ArrivedAtMicros, token.Told = v.ArrivedAtMicros, 0 // it is of an earlier place
	}
	a := m.enterOrWait(v, token)
	a.Restored = restored
	return a
}

// polled counts a poll that found a place.
func (m *model) polled(a line.Answer) line.Answer {
	if a.Status == line.Waiting || a.Status == line.Admitted {
		m.totals.Polls++
	}
	return a
}

func (m *model) enterOrWait(v *visitor, token line.Place) line.Answer {
	if m.mode == zone.ModeOpen && m.hold() == 0 {
		return m.admit(token)
	}
	if v.StandsAtMicros() <= m.edge && !m.gathers() {
		if !v.live { // overdue, and back
			v.live = true
			m.present = min(m.present+1, m.passed)
			m.shows = m.shows.Return()
		}
		if m.count(func(o *visitor) bool { return o.live && before(o, v) }) < m.rates.Reach(m.roomInLine()) {
			m.shows = m.shows.Keep(m.rates)
			return m.admit(token)
		}
	}
	return m.wait(v, token)
}

func (m *model) wasLost(token line.Place) bool {
	if m.epoch != 0 {
		silent := token.DueMillis+m.settings.IdleTimeoutSeconds*1000+m.settings.KeepPlaceSeconds*1000 < m.alive
		if silent || !m.sameData(token) {
			return false
		}
	}
	if token.ArrivedAtMicros > m.last {
		m.lose(token.ArrivedAtMicros, m.before)
		return true
	}
	lost := token.ArrivedAtMicros > m.healAfter && token.ArrivedAtMicros <= m.healUpTo
	return m.now < m.healUntil && lost && !slices.ContainsFunc(m.gone, func(p line.Place) bool {
		return p.ID == token.ID && p.ArrivedAtMicros >= token.ArrivedAtMicros
	})
}

func (m *model) sameData(token line.Place) bool {
	return token.Epoch == m.epoch || m.anyEpoch && m.now < m.healUntil
}

// recall: somebody is gone, which may have been lost.
func (m *model) recall(d line.Departure) {
	if !m.sameData(d.Place) {
		return
	}
	if v := m.find(d.Place.ID); v == nil || v.ArrivedAtMicros <= d.Place.ArrivedAtMicros {
		m.forget(d.Place)
		m.dropAside(d.Place)
	} else {
		m.gone = append(m.gone, d.Place)
	}
	e := admission{d.Place.ID, d.AdmittedAtMillis, d.ExpiresAtMillis}
	known := slices.ContainsFunc(m.log, func(e admission) bool { return e.id == d.Place.ID && e.at >= d.AdmittedAtMillis && e.expires > 0 })
	if d.AdmittedAtMillis > 0 && d.AdmittedAtMillis <= m.now && e.expires > m.now && !known && !m.isOver(line.Admission{ID: e.id, AtMillis: e.at}) &&
		e.at > m.settings.InsideState.RevokedUpToMillis {
		m.log = append(m.log, e)
		slices.SortStableFunc(m.log, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
	}
}

func (m *model) wait(v *visitor, token line.Place) line.Answer {
	ahead := m.count(func(o *visitor) bool { return before(o, v) })
	a := line.Answer{Status: line.Waiting, Place: token, Position: ahead + 1}
	a.Place.ScoreMicros, a.Place.AdmittedAtMillis = 0, 0
	switch {
	case m.gathers():
		a.Position, a.WaitMillis = 0, min(m.hold(), window.MaxEstimateMillis)
		a.PeriodMillis = m.rates.GatherPeriod(window.Jitter(v.ID[7], m.now))
	case v.StandsAtMicros() <= m.edge:
		in := m.opensIn(m.shows.Expect(m.count(func(o *visitor) bool { return o.live && before(o, v) }), m.rates))
		a.WaitMillis = min(in, window.MaxEstimateMillis)
		a.PeriodMillis = m.rates.AppointmentPeriod(in, m.shows)
		if m.c.full && m.count(func(o *visitor) bool { return o.live && before(o, v) }) < m.rates.Reach(1) {
			a.PeriodMillis = min(a.PeriodMillis, window.FrontMillis)
		}
	default:
		a.WaitMillis = m.estimate(ahead - m.released())
		a.PeriodMillis = m.rates.FarPeriod(ahead-m.released(), a.WaitMillis, m.now-token.ArrivedAtMicros/1000, window.Jitter(v.ID[7], m.now))
	}
	v.polled, v.due = m.now, m.now+a.PeriodMillis
	return a
}

func (m *model) admit(token line.Place) line.Answer {
	m.forget(token)
	expires := m.now + m.settings.PassTTL().Milliseconds()
	m.log = append(m.log, admission{token.ID, m.now, expires})
	m.totals.Admitted++
	m.comes(line.Admission{ID: token.ID, AtMillis: m.now}, expires)
	_, inSecond := m.lostAndLogged(window.SecondMillis)
	m.peak = m.peak.See(m.now, inSecond)
	since := token.ArrivedAtMicros / 1000
	if opened := m.settings.Gate().OpensAtMillis; opened <= m.now {
		since = max(since, opened)
	}
	bucket := window.WaitBucket(m.now - since)
	token.ScoreMicros, token.AdmittedAtMillis = 0, 0
	m.waits = append(m.waits, make([]int64, max(0, bucket+1-len(m.waits)))...)
	m.waits[bucket]++
	return line.Answer{Status: line.Admitted, Place: token, AdmittedAtMillis: m.now, ExpiresAtMillis: expires, Number: m.totals.Admitted, AheadMillis: m.clock.AheadMillis(m.now)}
}

func (m *model) admittedBefore(token line.Place) (line.Answer, bool) {
	for _, e := range slices.Backward(m.log) {
		if e.id == token.ID && e.expires > m.now && e.at > m.settings.InsideState.RevokedUpToMillis {
			token.ScoreMicros = 0
			return line.Answer{Status: line.AdmittedBefore, Place: token, AdmittedAtMillis: e.at, ExpiresAtMillis: e.expires, AheadMillis: m.clock.AheadMillis(e.at)}, true
		}
	}
	return line.Answer{}, false
}

func (m *model) leave(token line.Place) {
	if v := m.find(token.ID); v != nil && v.ArrivedAtMicros == token.ArrivedAtMicros {
		m.forget(token)
		m.totals.Left++
	} else {
		m.gone = append(m.gone, token)
		m.dropAside(token)
	}
	m.leaveInside(line.Admission{ID: token.ID, AtMillis: token.AdmittedAtMillis})
}

// forget takes somebody out for good.
func (m *model) forget(token line.Place) {
	if v := m.find(token.ID); v != nil {
		token.ArrivedAtMicros = max(token.ArrivedAtMicros, v.ArrivedAtMicros)
	}
	m.gone = append(m.gone, token)
	m.waiting = slices.DeleteFunc(m.waiting, func(v *visitor) bool { return v.ID == token.ID })
}

// sweep is a whole one, of as many calls as it takes.
func (m *model) sweep(rawMicros int64) (removed int64) {
	m.tick(rawMicros)
	m.turnAside()
	for v := range filter(slices.Clone(m.waiting), func(v *visitor) bool {
		missed := max(v.due, m.healFrom) // the last poll may have been lost
		return missed+max(m.settings.IdleTimeoutSeconds*1000, 2*(v.due-v.polled)) < m.now
	}) {
		m.setAside(v.Place)
		m.forget(v.Place)
		removed++
	}
	m.totals.Swept += removed
	m.c.over = slices.DeleteFunc(m.c.over, func(o admissionOver) bool { return o.at < m.now-m.longest()-window.MinuteMillis })
	return removed
}

func (m *model) find(id line.ID) *visitor {
	for v := range filter(m.waiting, func(v *visitor) bool { return v.ID == id }) {
		return v
	}
	return nil
}

func (m *model) put(v *visitor) {
	ahead := m.count(func(o *visitor) bool { return before(o, v) })
	m.waiting = slices.Insert(m.waiting, int(ahead), v)
}

func (m *model) len() int64  { return int64(len(m.waiting)) }
func (m *model) live() int64 { return m.count(func(v *visitor) bool { return v.live }) }
func (m *model) released() int64 {
	return m.count(func(v *visitor) bool { return v.StandsAtMicros() <= m.edge })
}

func (m *model) room() int64 {
	if m.hold() > 0 {
		return 0
	}
	return min(m.rates.Room(m.since(m.rates.WindowMillis), m.since(window.MinuteMillis)), m.c.room)
}

// roomInLine is the room where there is a line: a second has a limit, too.
func (m *model) roomInLine() int64 {
	return min(m.room(), m.rates.PerSecond-m.since(window.SecondMillis))
}

// since counts the admissions of the span that ends now, lost ones that may
// have been included.
func (m *model) since(span int64) int64 {
	lost, logged := m.lostAndLogged(span)
	return lost + logged
}

// lostAndLogged is since in two: those that may have been lost, up to the loss,
// and those in the log, all of them or those since the loss.
func (m *model) lostAndLogged(span int64) (lost, logged int64) {
	var all, after int64
	for _, e := range m.log {
		if e.at >= m.now-span {
			all++
			if e.at >= m.phantoms.AtMillis {
				after++
			}
		}
	}
	return m.phantoms.Beside(m.now-span, all, after)
}

func (m *model) count(is func(*visitor) bool) (n int64) {
	for range filter(m.waiting, is) {
		n++
	}
	return n
}

func before(a, b *visitor) bool {
	return cmp.Or(cmp.Compare(a.StandsAtMicros(), b.StandsAtMicros()), bytes.Compare(a.ID[:], b.ID[:])) < 0
}

func filter(all []*visitor, is func(*visitor) bool) func(yield func(*visitor) bool) {
	return func(yield func(*visitor) bool) {
		for _, v := range all {
			if is(v) && !yield(v) {
				return
			}
		}
	}
}
