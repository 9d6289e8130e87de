package estimate

import (
	"math"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// smallLimit is below how many in a window the store's slot is better than any reckoning with shares.
	smallLimit = 8
	// staleMillis is how old a table may be: the store was not heard of since.
	staleMillis = 10_000
	// saidMillis is for how long it is said why the estimate moved: in that time everybody polls.
	saidMillis = window.MaxPeriodMillis + 5_000
)

// point is when one enters who stands there, and from when to when that may be, in Unix
// milliseconds.
type point struct {
	micros           int64
	entry, low, high float64
	// measured is what entry moves towards.
	measured float64
	// ahead is how many beyond the edge stand before it, spread how far the logarithm of
	// the wait may be off.
	ahead, spread float64
}

// towards is the point between this and the next one.
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

// pointAt looks one up; the first or last one where it lies outside.
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
	// slot is when the first beyond the edge enters, opens when the store expects that.
	slot, opens float64
	// pace is how many a minute enter; held: nobody does, and that was the pace before.
	pace int64
	held bool
	// coming is the share of the live released who will come.
	coming float64
	points []point
	// perPlace is what each place beyond the last point adds, in milliseconds.
	perPlace    float64
	reason      line.Reason
	reasonUntil int64
}

// near has the live released enter from the next slot on, each as likely as the hazard has it.
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
	if ours := entry - first; ours > 0 && s.State.WindowLimit >= smallLimit {
		// The store reckons with the share that came of those released before, this with how people leave.
		// Each is late in another way: the mean of the two is nearer than either. Where people leave by the share of
		// their wait, the store is nearer if it has the earlier slot.
		theirs := max(0, t.opens-first)
		mean := math.Sqrt(ours * theirs)
		t.slot = first + mean - (1-m.hazard.timed)*max(0, mean-theirs)
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

// isNear reports whether one is among the live released.
func (t *Table) isNear(s *line.Sample, v *line.Seen) bool {
	return v.StandsAtMicros >= t.front && v.StandsAtMicros < t.edge && s.There(v)
}

// far puts in those beyond the edge.
func (m *Model) far(t *Table, s *line.Sample) {
	perPlace := window.MinuteMillis / float64(s.Pace)
	weight := float64(s.State.Waiting) / float64(len(s.Line))
	h := &m.hazard
	entry, ahead := t.slot, 0.0
	there := max(1, (t.slot-float64(t.at))/perPlace)
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
			entry += weight * perPlace * p
			there, come = there+weight, come+weight*p
		}
	}
	t.perPlace = perPlace * h.staying(0, entry-float64(t.last)/1000)
}

// follow keeps the times of entry that the table before told, and has them move towards what was measured. Who
// has come since was told by the last place that it knew.
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

// move is by how much the time of entry moves in this second that was told, and is off by that much.
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

// say finds out why the estimates move, if somebody moved them.
func (m *Model) say(t *Table, s *line.Sample, old *Table) {
	was := m.reason
	switch {
	case t.held:
		m.reason, m.reasonUntil = line.OnHold, t.at+staleMillis
	case was == line.OnHold:
		m.reason, m.reasonUntil = line.Resumed, t.at+saidMillis
	case s.State.LostAtMillis > 0 && t.at < s.State.LostAtMillis+saidMillis:
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

// Tell puts into the answer to one who waits there how long it will wait, the range, and why that moved.
// A table that is nil or stale leaves the store's estimate as it is, without a range.
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

// Joining is what one would be told who joins now: the estimate and the range; false if that is not known.
func (t *Table) Joining(s *line.State) (a line.Answer, ok bool) {
	if t == nil || s.NowMillis > t.at+staleMillis {
		return a, false
	}
	a = line.Answer{Status: line.Waiting, Position: s.Waiting + 1, State: *s}
	a.State.EdgeMicros = 0
	t.Tell(&a, s.LastArrivalMicros+1)
	return a, true
}

// Wait is how long one waits who stands there, in milliseconds from a time on, or from when the
// table was made if that was later. All who stand before it count as there: after an outage,
// nobody seems to be.
func (t *Table) Wait(standsAtMicros, fromMillis int64) int64 {
	p := pointAt(t.points, standsAtMicros)
	if standsAtMicros > t.edge {
		p.entry = t.slot + p.ahead*window.MinuteMillis/float64(t.pace)
	}
	return max(0, int64(p.entry)-max(t.at, fromMillis))
}
