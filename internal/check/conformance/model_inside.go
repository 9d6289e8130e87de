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
	// unknown may be inside since a loss; those in returned came back.
	unknown              window.Unknown
	returned             []line.Admission
	longest              window.Longest
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

func (m *model) capped() bool { return m.settings.MaxInside > 0 }

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
	if c.unknown.UntilMillis <= c.before {
		c.unknown, c.returned = window.Unknown{}, nil
	}
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
	if revoked || m.now < c.unknown.AtMillis+window.QuietMillis {
		c.room = min(c.room, 0)
	}
	if c.room < m.rates.Limit && (m.mode != zone.ModeOpen || m.hold() > 0) {
		c.full = true
		m.rates = m.rates.Through(c.stays.PerMinute(m.settings.MaxInside, int64(len(c.in)), m.settings.SessionSeconds*1000, m.now))
	}
}

func (m *model) countInside() {
	m.c.inside = m.c.unknown.Count
	for _, s := range m.c.in {
		if s.ends > m.c.before {
			m.c.inside++
		}
	}
	m.c.room = m.settings.MaxInside - m.c.inside
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
	s := stay{a, expires, true}
	if m.settings.InsideBy == zone.InsideByAdmission {
		s = stay{a, a.AtMillis + m.settings.SessionSeconds*1000, false}
	}
	if i := m.isInside(a); i >= 0 { // let in again in the same millisecond, since all were revoked
		m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
		m.c.in[i] = s
		return
	}
	m.countsIn(s)
}

func (m *model) countsIn(s stay) {
	m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
	m.c.in = append(m.c.in, s)
	m.c.inside++
	m.c.room--
}

// endStay: an admission that is done.
func (m *model) endStay(a line.Admission) {
	if m.isInside(a) >= 0 {
		m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
		m.takeOff(a)
		m.stayedFor(m.now - a.AtMillis)
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

// report: a server reports those inside.
func (m *model) report(t line.SessionReport) (h line.SessionReply) {
	if !m.capped() {
		return line.SessionReply{Statuses: slices.Repeat([]line.StayStatus{line.StayInside}, len(t.Stays)), NextMillis: m.now}
	}
	if t.LostAtMillis > 0 && t.LostAtMillis == m.healFrom {
		m.c.unknown = m.c.unknown.Raise(t.Lost)
	}
	for _, s := range t.Stays {
		h.Statuses = append(h.Statuses, m.tellOne(s))
	}
	h.NextMillis = t.SinceMillis
	for _, o := range m.c.over {
		if o.at >= t.SinceMillis {
			h.Over, h.NextMillis = append(h.Over, o.Admission), o.at
		}
	}
	m.counted()
	return h
}

func (m *model) tellOne(s line.Stay) line.StayStatus {
	i, ends := m.isInside(s.Admission), m.now+s.LeftMillis
	pass := s.AtMillis + m.c.longest.At(m.now, m.settings.PassTTL().Milliseconds())
	switch byAdmission, ofSession := m.settings.InsideBy == zone.InsideByAdmission, s.AtMillis+m.settings.SessionSeconds*1000; {
	case i >= 0 && byAdmission:
		ends = min(ends, ofSession)
	case i < 0 && byAdmission:
		ends = max(ends, min(pass, ofSession))
	case i < 0:
		ends = max(ends, pass)
	}
	stays := s.LeftMillis > 0 && !s.Named
	switch {
	case m.isOver(s.Admission), stays && s.AtMillis <= m.settings.InsideState.RevokedUpToMillis:
		return line.StayOver
	case !stays && s.Named && i < 0, stays && s.Begins && i < 0 && m.c.unknown.Has(s.AtMillis) && m.now < m.c.unknown.AtMillis+window.QuietMillis:
		return line.StayUnknown
	case s.Moved && stays && i < 0:
		from := line.Admission{ID: s.ID, AtMillis: s.AtMillis - 1}
		if j := m.isInside(from); j < 0 || m.c.in[j].ends <= m.c.before {
			return line.StayOver
		}
		m.endStay(from)
		m.countsIn(stay{s.Admission, ends, m.settings.InsideBy == zone.InsideBySession})
	case !stays:
		if s.Before && !s.Named && i >= 0 && s.AtMillis <= m.c.unknown.AtMillis {
			m.c.unknown.Count++
		}
		m.endStay(s.Admission)
		return line.StayOver
	case i < 0 && ends > m.c.before:
		if m.c.unknown.Has(s.AtMillis) && !slices.Contains(m.c.returned, s.Admission) {
			m.c.unknown.Count--
			m.c.returned = append(m.c.returned, s.Admission)
		}
		m.countsIn(stay{s.Admission, ends, false})
	case i >= 0:
		m.c.in[i] = stay{s.Admission, max(ends, m.c.in[i].ends), m.c.in[i].unused && ends <= m.c.before}
	}
	return line.StayInside
}

func (m *model) longestIs() int64 {
	return max(m.settings.Session(), m.settings.PassTTL()).Milliseconds()
}

func (m *model) longest() int64 { return m.c.longest.At(m.now, m.longestIs()) }

// loseInside: nobody who was inside is known any more.
func (m *model) loseInside(before int64) {
	if !m.capped() {
		return
	}
	most := int64(len(m.c.in)) + m.c.unknown.Count
	most = window.MayBeInside(most, m.rates.Admits(m.now-before, m.settings.Burst), m.settings.MaxInside, m.mode == zone.ModeOpen)
	m.c.stays = m.c.stays.To(m.now, int64(len(m.c.in)))
	m.c.in, m.c.returned, m.c.unknown = nil, nil, window.Lose(most, m.now, m.longest())
}

// restoreInside: what a server remembers; nothing is known if it remembers nothing.
func (m *model) restoreInside(mem line.Memory) {
	most := mem.Inside
	if mem.SeenAtMillis == 0 {
		most = max(most, m.settings.MaxInside)
	}
	if m.capped() {
		m.c.unknown = m.c.unknown.Raise(most)
	}
}

// changeCap: the settings were those of was.
func (m *model) changeCap(was zone.Settings) {
	s := m.settings
	if was.ZoneID == "" {
		was.InsideState = s.InsideState
	} else if was.MaxInside > 0 {
		m.c.longest = m.c.longest.Change(m.now, max(was.Session(), was.PassTTL()).Milliseconds(), m.longestIs())
	}
	switch {
	case !m.capped():
		m.c = crowdInside{stayed: m.c.stayed, over: m.c.over}
	case was.MaxInside == 0 && was.ZoneID != "":
		from := m.now - max(window.MinuteMillis, was.PassTTL().Milliseconds())
		was.InsideState = s.InsideState
		lately := int64(0)
		for _, e := range m.log {
			if e.at >= from {
				lately++
			}
		}
		m.c.unknown = window.Lose(lately, m.now, m.longest())
		m.c.unknown.FromMillis = from - 1
	}
	if s.InsideState.RevokedUpToMillis > was.InsideState.RevokedUpToMillis {
		m.revokeAll(s.InsideState.RevokedUpToMillis)
	}
	if s.InsideState.ResetAtMillis > was.InsideState.ResetAtMillis {
		m.c.unknown, m.c.returned = window.Unknown{}, nil
	}
	for _, text := range s.InsideState.Revoked {
		if jti, err := uuid.Parse(text); err == nil {
			if a, ok := line.AdmissionOf(s.ZoneID, jti); ok && !m.isOver(a) {
				m.endStay(a)
			}
		}
	}
}

// revokeAll: all who were admitted up to then are over. Of the others nothing is known until their sessions are told of.
func (m *model) revokeAll(upTo int64) {
	c, later := &m.c, int64(0)
	for _, e := range m.log {
		if e.at > upTo {
			later++
		}
	}
	most := int64(len(c.in)) + c.unknown.Count
	if upTo >= c.unknown.AtMillis && upTo >= m.now-window.MinuteMillis {
		most = min(most, later)
	}
	c.stays.Gone += int64(len(c.in))
	c.in, c.unknown, c.returned = nil, window.Unknown{}, nil
	if most > 0 {
		c.unknown = window.Lose(most, m.now, m.longest())
		c.unknown.FromMillis = upTo
	}
}
