package conformance

import (
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// join takes a place.
func (m *model) join(drawn event.Drawn, id line.ID) line.Answer {
	m.comeBack(id)
	if v := m.find(id); v != nil {
		p := line.Place{ID: id, ArrivedAtMicros: v.ArrivedAtMicros}
		if m.settings.Gate().SameDraw(drawn) {
			p.ScoreMicros = drawn.ScoreMicros
		}
		return m.poll(p)
	}
	if a, ok := m.admittedBefore(line.Place{ID: id}); ok {
		a.Place.ArrivedAtMicros = min(a.AdmittedAtMillis*1000, m.last)
		return a
	}
	v := &visitor{Place: line.Place{ID: id, ArrivedAtMicros: max(m.clock.NowMicros, m.last+1)}}
	in := m.hold() == 0 && (m.mode == zone.ModeOpen || m.straightIn())
	if m.mode == zone.ModeClosed {
		return line.Answer{Status: line.Closed}
	}
	switch g := m.settings.Gate(); {
	case g.UptoMicros > 0 && m.gathers():
		if drawn.FromMicros != g.FromMicros || drawn.UptoMicros != g.UptoMicros {
			return line.Answer{Status: line.Undrawn}
		}
		v.ScoreMicros = drawn.ScoreMicros
	default:
		v.ArrivedAtMicros = max(v.ArrivedAtMicros, g.BehindMicros)
		if g.UptoMicros > 0 && v.ArrivedAtMicros/1000 >= g.GatherAtMillis {
			v.ArrivedAtMicros = max(v.ArrivedAtMicros, g.UptoMicros)
		}
	}
	if !in && m.settings.MaxWaiting > 0 && m.len() >= m.settings.MaxWaiting {
		return line.Answer{Status: line.Full}
	}
	if most := m.settings.MaxWaitMinutes * window.MinuteMillis; !in && most > 0 && m.rates.PerMinute > 0 && !m.gathers() {
		if wait := m.estimate(m.len()-m.released()) - m.hold(); wait > most {
			return line.Answer{Status: line.TooLong, WaitMillis: wait}
		}
	}
	m.last = v.ArrivedAtMicros
	m.totals.Joined++
	if in {
		return m.admit(v.Place)
	}
	m.put(v)
	return m.wait(v, v.Place)
}

// straightIn: all who wait are released, and there is room for each live one
// of them and for one more; a burst, for when nobody waits.
func (m *model) straightIn() bool {
	room := m.roomInLine()
	if m.live() == 0 {
		room = min(m.rates.Limit+m.settings.Burst-m.since(m.rates.WindowMillis), m.rates.PerMinute-m.since(window.MinuteMillis), m.c.room)
	}
	return !m.frozen() && m.released() == m.len() && m.live() < room
}

// placeAnew has somebody arrive now who came before people gathered for a draw.
func (m *model) placeAnew(token line.Place) line.Place {
	m.forget(token)
	token.ArrivedAtMicros, token.Told = max(m.clock.NowMicros, m.last+1), 0
	if g := m.settings.Gate(); !g.DrawOpenAt(m.now) {
		token.ArrivedAtMicros, token.ScoreMicros = max(token.ArrivedAtMicros, g.BehindMicros, g.UptoMicros), 0
	}
	m.last = token.ArrivedAtMicros
	return token
}
