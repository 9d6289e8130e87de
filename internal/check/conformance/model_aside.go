package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// silent is a place that is set aside since the time, in milliseconds. Those of the other half than asideHalf are older.
type silent struct {
	line.Place
	at   int64
	half int
}

// turnAside begins the other half when one was filled for as long as places are kept.
func (m *model) turnAside() {
	keep := m.settings.KeepPlace().Milliseconds()
	if m.asideSince == 0 || m.now < m.asideSince+keep {
		return
	}
	m.asideHalf, m.asideSince = 1-m.asideHalf, m.now
	m.aside = slices.DeleteFunc(m.aside, func(s silent) bool { return s.half == m.asideHalf || keep == 0 })
	if len(m.aside) == 0 {
		m.asideSince = 0
	}
}

func (m *model) setAside(p line.Place) {
	if m.settings.KeepPlaceSeconds == 0 || int64(len(m.aside)) >= m.settings.MostAside() {
		return
	}
	if m.asideSince == 0 {
		m.asideSince = m.now
	}
	m.aside = append(m.aside, silent{p, m.now, m.asideHalf})
	m.totals.SetAside++
}

func (m *model) dropAside(token line.Place) {
	m.aside = slices.DeleteFunc(m.aside, func(s silent) bool { return s.ID == token.ID && s.ArrivedAtMicros <= token.ArrivedAtMicros })
}

// comeBack returns the visitor, in the line again; nil if no place is set aside for it.
func (m *model) comeBack(id line.ID) *visitor {
	m.aside = slices.DeleteFunc(m.aside, func(s silent) bool { return s.ID == id && s.at+m.settings.KeepPlace().Milliseconds() < m.now })
	i := slices.IndexFunc(m.aside, func(s silent) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	v := &visitor{Place: m.aside[i].Place, polled: m.now, due: m.now}
	m.aside = slices.Delete(m.aside, i, i+1)
	if g := m.settings.Gate(); v.StandsAtMicros() <= m.edge && !g.Outdates(v.StandsAtMicros(), m.now) {
		m.standOverdue(v)
	}
	m.put(v)
	m.totals.Returned++
	return v
}

// standOverdue: between two who came back when their turn was over stands one of the others who is there: one of the live, or
// so many beyond the edge that one of them is.
func (m *model) standOverdue(v *visitor) {
	v.ScoreMicros = max(v.StandsAtMicros(), m.asideBack)
	others := slices.Collect(filter(m.waiting, func(o *visitor) bool { return o.live && o.StandsAtMicros() > v.ScoreMicros }))
	if len(others) > 0 {
		others = others[:1]
	} else {
		others = slices.Collect(filter(m.waiting, func(o *visitor) bool { return o.StandsAtMicros() > max(v.ScoreMicros, m.edge) }))
		others = others[:min(len(others), int(window.Between(m.passed, m.present)))]
	}
	m.asideBack = v.ScoreMicros + 1
	if n := len(others); n > 0 {
		m.asideBack = others[n-1].StandsAtMicros() + 1
	}
}
