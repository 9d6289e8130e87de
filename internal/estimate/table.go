package estimate

import (
	"math"
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// staleMillis is how old a table may be when it is used.
	staleMillis = 10_000
	// saidMillis is for how long answers say why the estimate moved: in that time everybody polls.
	saidMillis = window.MaxPeriodMillis + 5*window.SecondMillis
	// noticed is by which share a cap changes for visitors to be told. The autopilot's smallest steps are less, and come each minute.
	noticed = 0.05
)

// point is when a visitor who stands at micros enters (entry), in Unix milliseconds.
type point struct {
	micros int64
	entry  float64
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
	// slot is when the first visitor beyond the edge enters.
	slot float64
	// pace is how many a minute enter. If held, nobody does, and pace is that of before.
	pace int64
	held bool
	// full: as many are inside as may be, and pace is the measured one of those who leave.
	full bool
	// maxInside is the cap, 0 for none.
	maxInside int64
	// doubt is how far the logarithm of that pace may be off. exits, if not nil, tell when visitors enter, in the place of the pace.
	doubt float64
	exits *exits
	// coming is the share of the live released who will come.
	coming float64
	// returns is how likely the owner of a place that is set aside comes back, a millisecond.
	returns float64
	// silent is how many are set aside who stood between those beyond the edge.
	silent float64
	points []point
	// perPlace is what each place beyond the last point adds, in milliseconds.
	perPlace    float64
	reason      line.Reason
	reasonUntil int64
}

// put makes the points anew. The live released enter evenly from the next slot until the store's slot; of the visitors
// beyond the edge each one adds to the waits behind it as likely as it stays.
func (t *Table) put(s *line.Observation, h *hazard) {
	t.points = t.points[:0]
	first, live := float64(s.FirstMillis), float64(s.State.Live)*t.coming
	if t.exits != nil {
		first, t.slot = t.exits.enters(0), t.exits.enters(live)
	}
	if t.front < t.edge {
		t.points = append(t.points, point{micros: t.front, entry: min(first, t.slot), spread: t.near() + t.stays(0)})
	}
	t.points = append(t.points, point{micros: t.edge, entry: t.slot, spread: t.near() + t.stays(live)})
	weight, each := weightOf(s), window.MinuteMillis/float64(t.pace)
	if t.exits != nil {
		each = t.exits.stay / max(1, float64(t.exits.Known+t.exits.Room))
	}
	entry, ahead, entered := t.slot, 0.0, live
	there := max(1, (t.slot-float64(t.at))/each)
	come := there
	// silent are away who stood ahead, those first whose turn has been; leaving will be.
	base, silent, leaving := t.slot, max(0, float64(s.Aside)-t.silent), 0.0
	t.silent = 0
	for i := range s.Line {
		v := &s.Line[i]
		if v.StandsAtMicros <= t.edge {
			continue
		}
		var back float64
		entry, back = t.awaits(base, each, silent+t.silent, leaving, entry)
		t.points = append(t.points, point{
			micros: v.StandsAtMicros, entry: entry, ahead: ahead,
			spread: t.sure() + (1-come/there+back/(there+back))*leaves + t.stays(entered),
		})
		t.last = v.StandsAtMicros
		ahead += weight
		if !s.There(v) {
			silent += weight
			continue
		}
		waited, wait := float64(v.PolledMillis-v.StandsAtMicros/1000), entry-float64(v.StandsAtMicros)/1000
		p := h.staying(waited, wait)
		if base += weight * each * p; t.exits != nil {
			entered += weight * p
			base = t.exits.enters(entered)
		}
		there, come, leaving = there+weight, come+weight*p, leaving+weight*(1-p)
		t.silent += weight * (math.Exp(h.upTo(waited/max(1, wait))) - 1)
	}
	entry, _ = t.awaits(base, each, silent+t.silent, leaving, entry)
	t.perPlace = each * h.staying(0, entry-float64(t.last)/1000)
	for i := range t.points {
		t.points[i].measured = t.points[i].entry
	}
}

// awaits is when a place is entered before which base enters, and of those who fell silent the ones who come back: of silent, who have, and of
// leaving, who will have. back is how many enter so.
func (t *Table) awaits(base, each, silent, leaving, entry float64) (at, back float64) {
	for range 2 {
		w := t.returns * max(1, entry-float64(t.at))
		back = silent*min(1, w) + leaving*max(0, 1-1/max(w, 1))
		entry = base + each*back
	}
	return entry, back
}

// stays is what the ends of stays add to how far the logarithm of a wait may be off, behind so many who enter.
func (t *Table) stays(ahead float64) float64 {
	if t.exits == nil {
		return 0
	}
	return t.exits.doubt(ahead)
}

// near is how far the logarithm of a released visitor's wait may be off.
func (t *Table) near() float64 { return t.sure() + (1-t.coming)*leaves }

// sure is how far the logarithm of a wait may be off if nobody ahead is expected to leave.
func (t *Table) sure() float64 {
	if t.full && t.exits == nil {
		return sure + t.doubt
	}
	return sure
}

// follow takes over the times of entry of the table before, and moves them towards what was measured. Places beyond that
// table's last one are moved as that last one is.
func (t *Table) follow(old *Table) {
	if old == nil || (old.exits == nil) != (t.exits == nil) || old.pace != t.pace && (!old.full || !t.full) || old.held || t.held {
		return
	}
	off := 0.0
	for i := range t.points {
		p := &t.points[i]
		if p.micros <= old.last {
			off = pointAt(old.points, p.micros).entry - p.measured
			off -= off * min(1, gain+pull*math.Abs(off)/max(1, p.measured-float64(t.at)))
		}
		p.entry = max(float64(t.at), p.measured+off)
	}
}

// between returns the range of a wait of so many milliseconds.
func between(wait, spread float64) (low, high float64) {
	by := math.Exp(spread + clump/max(clump, wait))
	return wait / by, wait * by
}

// say finds out why the estimates moved, if it was not the line's own movement.
func (m *Model) say(t *Table, s *line.Observation, old *Table) {
	was := m.reason
	switch {
	case t.held:
		m.reason, m.reasonUntil = line.OnHold, t.at+staleMillis
	case was == line.OnHold:
		m.reason, m.reasonUntil = line.Resumed, t.at+saidMillis
	case s.State.LostLine() && t.at < s.State.LostAtMillis+saidMillis:
		m.reason, m.reasonUntil = line.Recovering, s.State.LostAtMillis+saidMillis
	case t.recapped(old) != line.NoReason:
		m.reason, m.reasonUntil = t.recapped(old), t.at+saidMillis
	case t.full && (was == line.Faster || was == line.Slower) && t.at < m.reasonUntil: // it is still said
	case t.full:
		m.reason, m.reasonUntil = line.FullInside, t.at+staleMillis
	case was == line.FullInside:
		m.reason, m.reasonUntil = line.NoReason, t.at
	case old != nil && old.pace < t.pace:
		m.reason, m.reasonUntil = line.Faster, t.at+saidMillis
	case old != nil && old.pace > t.pace:
		m.reason, m.reasonUntil = line.Slower, t.at+saidMillis
	case t.at >= m.reasonUntil:
		m.reason = line.NoReason
	}
	t.reason, t.reasonUntil = m.reason, m.reasonUntil
}

// recapped is what a change of the cap does, by an operator or the autopilot, where the cap holds visitors back.
func (t *Table) recapped(before *Table) line.Reason {
	if before == nil || !t.full && !before.full {
		return line.NoReason
	}
	inside := func(t *Table) float64 {
		if t.maxInside == 0 {
			return math.Inf(1)
		}
		return float64(t.maxInside)
	}
	switch was, is := inside(before), inside(t); {
	case is > was*(1+noticed):
		return line.Faster
	case is < was*(1-noticed):
		return line.Slower
	}
	return line.NoReason
}

// Tell returns what a visitor who stands there is told: the store's answer and, if the visitor waits, the estimate, its
// range, and why it moved. If t is nil or stale, the estimate is the store's, without a range.
func (t *Table) Tell(answer line.Answer, standsAtMicros int64) line.Told {
	a := line.Told{Answer: answer, EstimateMillis: answer.WaitMillis}
	switch {
	case a.Status != line.Waiting:
		return a
	case a.Position == 0: // people gather, and it is known when it opens
		a.LowMillis, a.HighMillis = a.EstimateMillis, a.EstimateMillis
		return a
	case t == nil, a.State.NowMillis > t.at+staleMillis:
		return a
	}
	if a.State.NowMillis < t.reasonUntil {
		a.Reason = t.reason
	}
	wait, spread := float64(a.EstimateMillis), t.near()
	if standsAtMicros > a.State.EdgeMicros || t.held || standsAtMicros >= t.front && standsAtMicros <= t.edge {
		p := pointAt(t.points, standsAtMicros)
		if standsAtMicros > t.last {
			p.entry += max(0, float64(a.Position-1-a.State.Released)-p.ahead) * t.perPlace
		}
		wait, spread = p.entry-float64(a.State.NowMillis), p.spread
	} // else the store told when its slot opens
	low, high := between(wait, spread)
	millis := func(wait float64) int64 { return int64(min(max(0, wait), window.MaxEstimateMillis)) }
	a.EstimateMillis, a.LowMillis, a.HighMillis = millis(wait), millis(low), max(1, millis(high)) // 0 is no range
	return a
}

// Joining returns the estimate and the range for a visitor who joins now; false if they are not known.
func (t *Table) Joining(s *line.State) (told line.Told, ok bool) {
	if t == nil || s.NowMillis > t.at+staleMillis {
		return told, false
	}
	a := line.Answer{Status: line.Waiting, Position: s.Waiting + 1, State: *s}
	a.State.EdgeMicros = 0
	return t.Tell(a, s.LastArrivalMicros+1), true
}

// Wait returns how many milliseconds a visitor who stands there waits, from fromMillis on, or from when the table was
// made if that was later. All who stand before it count as there: after an outage a sample would show nobody there.
func (t *Table) Wait(standsAtMicros, fromMillis int64) int64 {
	p := pointAt(t.points, standsAtMicros)
	if standsAtMicros > t.edge {
		p.entry = t.slot + p.ahead*window.MinuteMillis/float64(t.pace)
	}
	return max(0, int64(p.entry)-max(t.at, fromMillis))
}

// Upto returns the last place in the line whose turn is expected by a time in Unix milliseconds. It is 0 if there is none, as while the
// zone is on hold, and math.MaxInt64 if all who wait are to enter by then. A nil table returns 0.
func (t *Table) Upto(millis int64) int64 {
	if t == nil || t.held {
		return 0
	}
	for i, p := range slices.Backward(t.points) {
		by := float64(millis) - p.entry
		switch {
		case by < 0:
		case i+1 == len(t.points):
			return math.MaxInt64
		default:
			next := t.points[i+1]
			return p.micros + int64(float64(next.micros-p.micros)*by/(next.entry-p.entry))
		}
	}
	return 0
}
