package conformance

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// crowdInside are those inside, in a zone with a cap.
type crowdInside struct {
	in     []stay
	over   []admissionOver
	stays  window.Stays
	stayed []int64
	// phantoms may be inside until then; so many of the earliest are known again.
	phantoms             []line.Step
	back, lostAt         int64
	quietAt, quietUntil  int64
	inside, room, before int64 // by the latest look; before: who ended by then is not inside
	full                 bool
}

type stay struct {
	line.Admission
	ends   int64
	unused bool
}

type admissionOver struct {
	line.Admission
	at int64
}

func (m *model) capped() bool    { return m.settings.MaxInside > 0 }
func (m *model) bySession() bool { return m.settings.InsideBy == zone.InsideBySession }

// quiet: nobody asked for a while, so that nobody could tell who stays.
func (m *model) quiet() {
	if m.capped() && m.before > 0 && m.now-m.before > window.QuietMillis {
		m.c.quietAt, m.c.quietUntil = m.before, m.now+window.QuietMillis
	}
}

// lookInside takes off those whose time is over.
func (m *model) lookInside() {
	c := &m.c
	c.before = m.now
	if m.now < c.quietUntil {
		c.before = c.quietAt
	}
	c.phantoms = slices.DeleteFunc(c.phantoms, func(s line.Step) bool {
		if s.EndsMillis <= c.before {
			c.back = max(0, c.back-s.Count)
		}
		return s.EndsMillis <= c.before
	})
	ended := slices.Clone(c.in)
	ended = slices.DeleteFunc(ended, func(s stay) bool { return s.ends > c.before })
	slices.SortFunc(ended, func(a, b stay) int { return cmp.Compare(a.ends, b.ends) })
	for _, s := range ended[:min(len(ended), window.EndBatch)] {
		c.stays = c.stays.To(m.now, int64(len(c.in)))
		if s.unused {
			m.totals.Unused++
		} else {
			m.stayedFor(s.ends - s.AtMillis)
		}
		m.takeOff(s.Admission)
	}
	m.counted()
}

// counted works out the room, and the rates by it.
func (m *model) counted() {
	c := &m.c
	c.inside, c.room, c.full = 0, window.MaxEstimateMillis, false
	m.rates = window.RatesOf(m.settings.InForce())
	if !m.capped() {
		return
	}
	m.countInside()
	revoked := m.now <= m.settings.InsideState.RevokedUpToMillis
	if revoked || c.lostAt > 0 && m.now < c.lostAt+window.QuietMillis {
		c.room = min(c.room, 0)
	}
	if c.room < m.rates.Limit && (m.mode != zone.ModeOpen || m.hold() > 0) {
		c.full = true
		m.rates = m.rates.Through(c.stays.PerMinute(m.settings.MaxInside, int64(len(c.in)), m.settings.SessionSeconds*1000, m.now))
	}
}

func (m *model) countInside() {
	m.c.inside = m.lostInside()
	for _, s := range m.c.in {
		if s.ends > m.c.before {
			m.c.inside++
		}
	}
	m.c.room = m.settings.MaxInside - m.c.inside
}

func (m *model) lostInside() (n int64) {
	for _, s := range m.c.phantoms {
		n += s.Count
	}
	return n - m.c.back
}

func (m *model) isInside(a line.Admission) int {
	return slices.IndexFunc(m.c.in, func(s stay) bool { return s.Admission == a })
}

func (m *model) isOver(a line.Admission) bool {
	return slices.ContainsFunc(m.c.over, func(o admissionOver) bool { return o.Admission == a })
}

func (m *model) takeOff(a line.Admission) {
	m.c.in = slices.Delete(m.c.in, m.isInside(a), m.isInside(a)+1)
	m.c.stays.Gone++
}

func (m *model) stayedFor(millis int64) {
	b := window.WaitBucket(millis)
	m.c.stayed = append(m.c.stayed, make([]int64, max(0, b+1-len(m.c.stayed)))...)
	m.c.stayed[b]++
}

// comes: an admission is inside from when it is given.
func (m *model) comes(a line.Admission, expires int64) {
	if !m.capped() {
		return
	}
	ends := a.AtMillis + m.settings.SessionSeconds*1000
	if m.bySession() {
		ends = expires
	}
	if ends > m.c.before {
		m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
		if i := m.isInside(a); i >= 0 { // let in again in the same millisecond, since all were revoked
			m.c.in[i] = stay{a, ends, m.bySession()}
			return
		}
		m.c.in = append(m.c.in, stay{a, ends, m.bySession()})
		m.c.inside++
		m.c.room--
	}
}

func (m *model) comesBack(a line.Admission) {
	if m.lostInside() > 0 && a.AtMillis <= m.c.lostAt {
		m.c.back++
	}
}

func (m *model) recallStay(a line.Admission, expires int64) {
	if m.capped() && !m.isOver(a) && m.isInside(a) < 0 && a.AtMillis > m.settings.InsideState.RevokedUpToMillis {
		m.comesBack(a)
		m.comes(a, expires)
	}
}

// endStay: an admission that is done.
func (m *model) endStay(a line.Admission) {
	if m.isInside(a) >= 0 {
		m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
		m.takeOff(a)
		m.stayedFor(m.now - a.AtMillis)
	} else {
		m.comesBack(a)
	}
	m.c.over = append(m.c.over, admissionOver{a, m.now})
	for i, e := range slices.Backward(m.log) {
		if e.id == a.ID {
			if e.at == a.AtMillis {
				m.log[i].expires = 0
			}
			return
		}
	}
}

// leaveInside: a visitor who was admitted leaves.
func (m *model) leaveInside(a line.Admission) {
	if m.capped() && a.AtMillis > 0 && !m.isOver(a) {
		m.endStay(a)
		m.countInside()
	}
}

// tell: a server tells of those inside.
func (m *model) tell(t line.Telling) (h line.Heard) {
	if !m.capped() {
		return line.Heard{Statuses: slices.Repeat([]line.StayStatus{line.StayInside}, len(t.Stays)), NextMillis: m.now}
	}
	m.lostBesides(t)
	for _, s := range t.Stays {
		h.Statuses = append(h.Statuses, m.tellOne(s))
	}
	m.c.over = slices.DeleteFunc(m.c.over, func(o admissionOver) bool {
		return o.at <= m.now-2*m.settings.SessionSeconds*1000-window.MinuteMillis
	})
	h.NextMillis = t.SinceMillis
	for _, o := range m.c.over {
		if o.at >= t.SinceMillis {
			h.Over, h.NextMillis = append(h.Over, o.Admission), o.at
		}
	}
	if t.WantSteps {
		h.Steps = m.steps()
	}
	m.counted()
	return h
}

func (m *model) steps() (all []line.Step) {
	in := slices.Clone(m.c.in)
	slices.SortFunc(in, func(a, b stay) int { return cmp.Compare(a.ends, b.ends) })
	for _, s := range in {
		ends := (s.ends + window.StepMillis - 1) / window.StepMillis * window.StepMillis
		switch n := len(all); {
		case s.ends <= m.c.before:
		case n > 0 && all[n-1].EndsMillis == ends:
			all[n-1].Count++
		default:
			all = append(all, line.Step{EndsMillis: ends, Count: 1})
		}
	}
	return all
}

func (m *model) tellOne(s line.Stay) line.StayStatus {
	i, ends := m.isInside(s.Admission), m.now+s.LeftMillis
	stays := s.LeftMillis > 0 && !s.Named
	switch {
	case m.isOver(s.Admission), stays && s.AtMillis <= m.settings.InsideState.RevokedUpToMillis:
		return line.StayOver
	case !stays && s.Named && i < 0:
		return line.StayUnknown
	case !stays:
		m.endStay(s.Admission)
		return line.StayOver
	case !m.bySession():
	case i < 0:
		m.comesBack(s.Admission)
		m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
		m.c.in = append(m.c.in, stay{s.Admission, ends, false})
	default:
		m.c.in[i] = stay{s.Admission, max(ends, m.c.in[i].ends), false}
	}
	return line.StayInside
}

func (m *model) lostBesides(t line.Telling) {
	if t.LostAtMillis == 0 || t.LostAtMillis != max(0, m.healUntil-window.HealMillis) {
		return
	}
	missing := int64(0)
	for _, s := range t.Lost {
		if s.EndsMillis > m.now {
			missing += s.Count
		}
	}
	missing += m.unheard(missing) - int64(len(m.c.in)) - m.lostInside()
	for _, s := range slices.Backward(t.Lost) {
		if n := min(missing, s.Count); n > 0 && s.EndsMillis > m.now {
			m.phantom(s.EndsMillis, n)
			missing -= n
		}
	}
}

func (m *model) phantom(ends, n int64) {
	if n == 0 {
		return
	}
	m.c.phantoms = append(m.c.phantoms, line.Step{EndsMillis: ends, Count: n})
	slices.SortStableFunc(m.c.phantoms, func(a, b line.Step) int { return cmp.Compare(a.EndsMillis, b.EndsMillis) })
}

// loseInside: those who were admitted last may have been lost.
func (m *model) loseInside() {
	ttl := m.settings.Session()
	if m.bySession() {
		ttl = m.settings.PassTTL()
	}
	if m.capped() {
		m.c.lostAt = m.now
		m.phantom(m.now+ttl.Milliseconds(), m.unheard(int64(len(m.c.in))+m.lostInside()))
	}
}

// unheard: so many may have been admitted beside those who are known to have been inside.
func (m *model) unheard(known int64) int64 {
	if m.mode == zone.ModeOpen {
		return m.phantoms.Limit
	}
	return min(m.phantoms.Limit, max(0, m.settings.MaxInside-known))
}

// restoreInside: what a server remembers; nothing is known if it remembers nothing.
func (m *model) restoreInside(mem line.Memory) {
	if !m.capped() {
		return
	}
	if mem.SeenAtMillis == 0 {
		m.phantom(m.now+m.settings.SessionSeconds*1000, m.settings.MaxInside)
	}
	for _, s := range mem.Inside {
		if s.EndsMillis > m.now {
			m.phantom(s.EndsMillis, s.Count)
		}
	}
}

// changeCap: the settings were those of was.
func (m *model) changeCap(was zone.Settings) {
	s := m.settings
	switch {
	case !m.capped():
		m.c = crowdInside{stayed: m.c.stayed}
		return
	case was.MaxInside == 0 && was.ZoneID != "":
		ttl := s.SessionSeconds * 1000
		if m.bySession() {
			ttl = s.PassTTL().Milliseconds()
		}
		m.c.lostAt, was.InsideState = m.now, s.InsideState
		lately := int64(0)
		for _, e := range m.log {
			if e.at >= m.now-window.MinuteMillis {
				lately++
			}
		}
		m.phantom(m.now+ttl, lately)
	}
	if s.InsideState.RevokedUpToMillis > was.InsideState.RevokedUpToMillis {
		m.c.stays.Gone += int64(len(m.c.in))
		m.c.in, m.c.phantoms, m.c.back = nil, nil, 0
	}
	if s.InsideState.ResetAtMillis > was.InsideState.ResetAtMillis {
		m.c.phantoms, m.c.back, m.c.lostAt = nil, 0, 0
	}
	for _, text := range s.InsideState.Revoked {
		if jti, err := uuid.Parse(text); err == nil {
			if a, ok := line.AdmissionOf(s.ZoneID, jti); ok && !m.isOver(a) {
				m.endStay(a)
			}
		}
	}
}
