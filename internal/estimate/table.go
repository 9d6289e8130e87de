package estimate

import (
	"math"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// staleMillis is how old a table may be when it is used.
	staleMillis = 10_000
	// saidMillis is for how long answers say why the estimate moved: in that time everybody polls.
	saidMillis = window.MaxPeriodMillis + 5_000
)

// point is when a visitor who stands at micros enters (entry), and the range of that, in Unix milliseconds.
type point struct {
	micros           int64
	entry, low, high float64
	// measured is what entry moves towards.
	measured float64
	// ahead is how many beyond the edge stand before it. spread is how far the logarithm of the wait may be off.
	ahead, spread float64
}

// towards returns the point at micros, interpolated between a and the next point b.
func (a point) towards(b point, micros int64) point {
	if b.micros <= a.micros {
		return b
	}
	f := float64(micros-a.micros) / float64(b.micros-a.micros)
	a.micros = micros
	a.entry += f * (b.entry - a.entry)
	a.measured += f * (b.measured - a.measured)
	a.low += f * (b.low - a.low)
	a.high += f * (b.high - a.high)
	a.spread += f * (b.spread - a.spread)
	a.ahead += f * (b.ahead - a.ahead)
	return a
}

// pointAt returns the point at micros, interpolated; outside the table, the first or the last point.
func pointAt(all []point, micros int64) point {
	i := sort.Search(len(all), func(i int) bool { return all[i].micros >= micros })
	switch {
	case i == len(all):
		return all[i-1]
	case i == 0:
		return all[0]
	}
	return all[i-1].towards(all[i], micros)
}

// Table tells how long each visitor of a zone will wait. It is never changed.
type Table struct {
	at, front, edge, last int64
	// slot is when the first visitor beyond the edge enters. opens is when the store expects that.
	slot, opens float64
	// pace is how many a minute enter. If held, nobody does, and pace is that of before.
	pace int64
	held bool
	// each is how many milliseconds lie between two who enter.
	each float64
	// coming is the share of the live released who will come.
	coming float64
	points []point
	// perPlace is what each place beyond the last point adds, in milliseconds.
	perPlace    float64
	reason      line.Reason
	reasonUntil int64
}

// near puts the live released into the table: they enter from the next slot on, each with the probability of staying.
func (m *Model) near(t *Table, s *line.Sample) {
	t.points = t.points[:0]
	n := 0
	for i := range s.Line {
		if t.isNear(s, &s.Line[i]) {
			n++
		}
	}
	first, entry := float64(s.FirstMillis), float64(s.FirstMillis)
	each := max(0, t.opens-first) / max(1, float64(n)*t.coming)
	for i := range s.Line {
		if v := &s.Line[i]; t.isNear(s, v) {
			from := float64(v.StandsAtMicros) / 1000
			t.points = append(t.points, point{micros: v.StandsAtMicros, entry: entry})
			entry += each * m.hazard.staying(float64(v.PolledMillis)-from, entry-from)
		}
	}
	t.slot = entry
	if ours, theirs := entry-first, max(0, t.opens-first); ours > 0 {
		// The store's slot follows from the share of released visitors who came lately, ours from the hazard. The fewer
		// come, the more a small error of the hazard matters, and the more the store's slot counts if it is earlier.
		weight := 0.5
		if theirs < ours {
			weight = 1 - t.coming
		}
		t.slot = first + ours*math.Pow(theirs/ours, weight)
	}
	t.points = append(t.points, point{micros: t.edge, entry: entry})
	for i := range t.points {
		p := &t.points[i]
		if entry > first {
			p.entry = first + (p.entry-first)*(t.slot-first)/(entry-first)
		}
		p.measured, p.spread = p.entry, t.spread()
	}
	t.points[len(t.points)-1].entry, t.points[len(t.points)-1].measured = t.slot, t.slot
}

// isNear reports whether a visitor is among the live released.
func (t *Table) isNear(s *line.Sample, v *line.Seen) bool {
	return v.StandsAtMicros >= t.front && v.StandsAtMicros < t.edge && s.There(v)
}

// far puts the visitors beyond the edge into the table.
func (m *Model) far(t *Table, s *line.Sample) {
	weight := float64(s.State.Waiting) / float64(len(s.Line))
	h := &m.hazard
	entry, ahead := t.slot, 0.0
	there := max(1, (t.slot-float64(t.at))/t.each)
	come := there
	for i := range s.Line {
		v := &s.Line[i]
		if v.StandsAtMicros <= t.edge {
			continue
		}
		t.points = append(t.points, point{
			micros: v.StandsAtMicros, entry: entry, measured: entry, ahead: ahead, spread: sure + (1-come/there)*m.unsure(),
		})
		t.last = v.StandsAtMicros
		ahead += weight
		if s.There(v) {
			from := float64(v.StandsAtMicros) / 1000
			p := h.staying(float64(v.PolledMillis)-from, entry-from)
			entry += weight * t.each * p
			there, come = there+weight, come+weight*p
		}
	}
	t.perPlace = t.each * h.staying(0, entry-float64(t.last)/1000)
}

// follow takes over the times of entry of the table before, and moves them towards what was measured. Places beyond that
// table's last one are moved as that last one is.
func (t *Table) follow(old *Table) {
	if old == nil || old.pace != t.pace || old.held || t.held {
		return
	}
	off := 0.0
	for i := range t.points {
		p := &t.points[i]
		if p.micros <= old.last {
			off = pointAt(old.points, p.micros).entry - p.measured
			off -= t.move(p, off)
		}
		p.entry = max(float64(t.at), p.measured+off)
	}
}

// move returns by how many milliseconds a told time of entry, which is off by that much, moves with this table.
func (t *Table) move(p *point, off float64) float64 {
	rest, waited := max(1, p.measured-float64(t.at)), max(0, float64(t.at)-float64(p.micros)/1000)
	told := max(1, rest+off)
	by := off * min(1, gain+pull*math.Abs(off)/rest)
	if told+clump > tooLate*(rest+clump) || rest+clump > tooSoon*(told+clump) {
		return by
	}
	period := min(window.FirstPeriodMillis+waited/2, 1.1*window.FarPeriodMillis)
	most := steady * (waited + rest) * 1000 / period
	return min(most, max(-most, by))
}

// say finds out why the estimates moved, if it was not the line's own movement.
func (m *Model) say(t *Table, s *line.Sample, old *Table) {
	was := m.reason
	switch {
	case t.held:
		m.reason, m.reasonUntil = line.OnHold, t.at+staleMillis
	case was == line.OnHold:
		m.reason, m.reasonUntil = line.Resumed, t.at+saidMillis
	case s.State.LostLine() && t.at < s.State.LostAtMillis+saidMillis:
		m.reason, m.reasonUntil = line.Recovering, s.State.LostAtMillis+saidMillis
	case old != nil && old.pace < t.pace:
		m.reason, m.reasonUntil = line.Faster, t.at+saidMillis
	case old != nil && old.pace > t.pace:
		m.reason, m.reasonUntil = line.Slower, t.at+saidMillis
	case t.at >= m.reasonUntil:
		m.reason = line.NoReason
	}
	t.reason, t.reasonUntil = m.reason, m.reasonUntil
}

// Tell writes into the answer to a visitor who waits there the estimate, its range, and why it moved. If t is nil or
// stale, the store's estimate stays as it is, without a range.
func (t *Table) Tell(a *line.Answer, standsAtMicros int64) {
	switch {
	case a.Status != line.Waiting:
		return
	case a.Position == 0: // people gather, and it is known when it opens
		a.LowMillis, a.HighMillis = a.EstimateMillis, a.EstimateMillis
		return
	case t == nil, a.State.NowMillis > t.at+staleMillis:
		return
	}
	now := float64(a.State.NowMillis)
	if a.State.NowMillis < t.reasonUntil {
		a.Reason = t.reason
	}
	if standsAtMicros <= a.State.EdgeMicros && !t.held && (standsAtMicros < t.front || standsAtMicros > t.edge) {
		a.LowMillis, a.HighMillis = t.appointment(a.EstimateMillis)
		return
	}
	p := pointAt(t.points, standsAtMicros)
	if standsAtMicros > t.last {
		more := max(0, float64(a.Position-1-a.State.Released)-p.ahead) * t.perPlace
		p.entry, p.low, p.high = p.entry+more, p.low+more, p.high+more
	}
	millis := func(at float64) int64 { return int64(min(max(0, at-now), window.MaxEstimateMillis)) }
	a.EstimateMillis, a.LowMillis, a.HighMillis = millis(p.entry), millis(p.low), max(1, millis(p.high)) // 0 is no range
}

// Joining returns the estimate and the range for a visitor who joins now; false if they are not known.
func (t *Table) Joining(s *line.State) (a line.Answer, ok bool) {
	if t == nil || s.NowMillis > t.at+staleMillis {
		return a, false
	}
	a = line.Answer{Status: line.Waiting, Position: s.Waiting + 1, State: *s}
	a.State.EdgeMicros = 0
	t.Tell(&a, s.LastArrivalMicros+1)
	return a, true
}

// Wait returns how many milliseconds a visitor who stands there waits, from fromMillis on, or from when the table was
// made if that was later. All who stand before it count as there: after an outage a sample would show nobody there.
func (t *Table) Wait(standsAtMicros, fromMillis int64) int64 {
	p := pointAt(t.points, standsAtMicros)
	if standsAtMicros > t.edge {
		p.entry = t.slot + p.ahead*t.each
	}
	return max(0, int64(p.entry)-max(t.at, fromMillis))
}
