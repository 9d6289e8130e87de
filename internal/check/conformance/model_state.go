package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

func (m *model) state() line.State {
	longest := int64(0)
	if m.capped() {
		longest = m.longest()
	}
	return line.State{
		NowMillis: m.now, EdgeMicros: m.edge, LastArrivalMicros: m.last,
		Waiting: m.len(), Released: m.released(), Live: m.live(),
		InWindow: m.since(m.rates.WindowMillis), InMinute: m.since(window.MinuteMillis), WindowLimit: m.rates.Limit,
		EdgePassed: m.passed, EdgeLive: m.present,
		Inside: m.c.inside, InsideLost: m.c.unknown.Count, Full: m.c.full, LongestMillis: longest,
		Epoch: m.epoch, LostAtMillis: m.healFrom,
		SettlesAtMillis: m.held(m.settings.Gate().SettlesAtMillis), OpensAtMillis: m.held(m.settings.Gate().OpensAtMillis),
	}
}

func (m *model) stats() line.Stats {
	return line.Stats{
		State: m.state(), Totals: m.totals, Waits: slices.Clone(m.waits),
		Aside:          int64(len(m.aside)),
		Stays:          slices.Clone(m.c.stayed),
		MostInSecond:   m.peak.Latest(m.now),
		EstimateMillis: m.estimate(m.len() - m.released()),
	}
}

// hold is how long nobody is admitted yet.
func (m *model) hold() int64 {
	if g := m.settings.Gate(); g.GatherAtMillis <= m.now {
		return max(0, g.OpensAtMillis-m.now)
	}
	return 0
}

func (m *model) gathers() bool { return m.hold() > 0 && m.now < m.settings.Gate().SettlesAtMillis }

// held is a time of the gate, while that is closed.
func (m *model) held(millis int64) int64 {
	if m.hold() == 0 {
		return 0
	}
	return millis
}

func (m *model) estimate(far int64) int64 {
	room := m.room()
	if m.hold() > 0 {
		room = m.rates.Limit // at the opening
	}
	in := m.hold() + m.rates.Estimate(m.shows.Expect(m.live(), m.rates), far, room, m.present, m.passed)
	return min(in, window.MaxEstimateMillis)
}

// opensIn is how long until the slot opens for one with so many ahead.
func (m *model) opensIn(ahead int64) int64 {
	if m.rates.PerMinute == 0 {
		return window.MaxEstimateMillis
	}
	opens := func(ahead, span, limit int64) int64 {
		if m.hold() > 0 { // a span's worth at the opening, the next a span later
			return m.now + min(m.hold()+ahead/limit*(span+1), window.MaxEstimateMillis)
		}
		lost, logged := m.lostAndLogged(span)
		free := limit - lost - logged
		if ahead < free {
			return m.now
		}
		in := m.log[len(m.log)-int(logged):]
		at := func(i int64) int64 { return in[i].at }
		return window.Opens(ahead-free, m.now, span, limit, m.phantoms, lost, logged, at)
	}
	at := m.rates.Slot(ahead, opens)
	if m.c.full && m.hold() == 0 {
		at = max(at, m.rates.Leaves(ahead, m.c.room, m.now))
	}
	return at - m.now
}
