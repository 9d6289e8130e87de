package conformance

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/window"
)

// lose: what happened until now may be lost, arrivals until the given one too. The
// line is known to have stood until alive.
func (m *model) lose(newest, alive int64) {
	m.phantoms = window.Phantoms{
		AtMillis: m.now, WindowMillis: m.rates.WindowMillis,
		Limit: m.rates.Limit + m.settings.Burst, PerMinute: m.rates.PerMinute,
	}
	if m.now >= m.healUntil {
		m.healAfter, m.gone, m.anyEpoch = m.last, nil, false
	}
	m.loseInside(alive)
	if m.healFrom > 0 && m.now < m.healFrom+m.settings.IdleTimeoutSeconds*1000 {
		alive = min(alive, m.alive)
	}
	m.alive = alive
	m.last = max(m.last, newest, m.clock.NowMicros)
	if g := m.settings.Gate(); !g.DrawOpenAt(m.now) {
		m.last = g.Behind(m.last)
		if m.last > m.clock.NowMicros || m.clock.NowMicros > m.clock.RawMicros {
			m.last += window.LostMicros
		}
	}
	m.healUpTo, m.healFrom, m.healUntil = m.last, m.now, m.now+window.HealMillis+m.settings.KeepPlaceSeconds*1000
}

// clone is a model that does not change with this one.
func (m *model) clone() *model {
	c := *m
	c.waiting = make([]*visitor, len(m.waiting))
	for i, v := range m.waiting {
		c.waiting[i] = new(*v)
	}
	c.log, c.waits, c.gone = slices.Clone(m.log), slices.Clone(m.waits), slices.Clone(m.gone)
	c.aside = slices.Clone(m.aside)
	c.c.in, c.c.over, c.c.stayed, c.c.returned = slices.Clone(m.c.in), slices.Clone(m.c.over), slices.Clone(m.c.stayed), slices.Clone(m.c.returned)
	return &c
}

// mark remembers what the stores hold; rewind takes them back to that, on other nodes.
func (w *fixture) mark() (rewind func()) {
	w.t.Helper()
	var all []func(t TB)
	for _, h := range w.stores {
		all = append(all, h.Mark(w.t))
	}
	held := w.model.clone()
	return func() {
		w.t.Helper()
		for _, rewind := range all {
			rewind(w.t)
		}
		w.model = held
		w.model.failedOver = true
	}
}

// lostCalls are at most lost in a fail-over.
const lostCalls = 8

// failOver: what happened in the last second is lost. The servers know who departed.
func (c *crowd) failOver(t *rapid.T) {
	if slices.ContainsFunc(c.stores, func(h *Harness) bool { return h.Mark == nil }) {
		t.Skip("a store that loses all or nothing")
	}
	c.stats() // the store was there until now
	rewind, lostFrom := c.mark(), c.clock.Now()
	for range rapid.IntRange(1, lostCalls).Draw(t, "lost calls") {
		switch rapid.SampledFrom([]string{"join", "join", "poll", "leave", "sweep", "time"}).Draw(t, "lost") {
		case "join":
			c.join(t)
		case "poll":
			c.poll(t)
		case "leave":
			c.leave(t)
		case "sweep":
			c.sweep(t)
		default:
			c.pass(time.Duration(rapid.Int64Range(0, 200_000).Draw(t, "microseconds")) * time.Microsecond)
		}
	}
	restored := c.model.totals.Restored
	rewind()
	restored -= c.model.totals.Restored
	lostUpto := c.clock.Now()
	c.pass(second) // a fail-over takes a while
	if rapid.Bool().Draw(t, "the other node's clock is behind") {
		c.timeGoesBack(t)
	}
	c.stats() // where it is noticed
	c.recall(c.departed...)
	// A clock that is behind by just that hides which arrivals were lost.
	hidden := !c.clock.Now().Before(lostFrom) && !c.clock.Now().After(lostUpto)
	c.invariants.failedOver(restored > 0 || hidden)
}
