package event

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// Step is one of the steps of an occurrence.
type Step string

// The steps, in their order.
const (
	StepPreQueue Step = "preQueue"
	StepOpens    Step = "opens"
	StepCloses   Step = "closes"
	StepEnds     Step = "ends"
)

// Steps are all of them.
var Steps = []Step{StepPreQueue, StepOpens, StepCloses, StepEnds}

// Phase is which step an occurrence made last.
type Phase string

// The phases, in their order.
const (
	// PhaseAnnounced: none yet.
	PhaseAnnounced Phase = "announced"
	PhaseGathering Phase = "gathering"
	PhaseOpen      Phase = "open"
	PhaseClosed    Phase = "closed"
)

// Never, in Unix milliseconds, is the time of a step that is held. A double holds it exactly.
const Never = 1<<53 - 1

// maxDraws is how many draws a zone remembers. Visitors of the earlier ones may still wait.
const maxDraws = 3

// State is how far a zone's events are. The servers keep it; no operator sets it. It holds no secret.
type State struct {
	// Now is the occurrence that is next, or under way; nil for none.
	Now *Progress `json:"now,omitempty"`
	// Draws are the latest draws. That of Now, if it has one, is the last.
	Draws []Draw `json:"draws,omitempty"`
	// Done are the latest occurrences of the events in the list that are over, or were
	// skipped.
	Done []Done `json:"done,omitempty"`
}

// Done is an occurrence that is over.
type Done struct {
	Event string `json:"event"`
	// AtMillis is when it was listed to open, in Unix milliseconds.
	AtMillis int64 `json:"at"`
}

// Progress is one occurrence. Its times are Unix milliseconds on the store's clock; 0 for
// a step that there is not, Never for one that is held.
type Progress struct {
	// Event is the entry of the list from which the times were last taken.
	Event Event `json:"event"`
	// ListedMillis is when it was listed to open, whatever an operator did to the opening since.
	ListedMillis int64 `json:"listed"`
	Phase        Phase `json:"phase"`
	// Order is the event's, as it was when people began to gather.
	Order Order `json:"order"`

	PreQueueAtMillis int64 `json:"preQueueAt"`
	SettlesAtMillis  int64 `json:"settlesAt"`
	OpensAtMillis    int64 `json:"opensAt"`
	ClosesAtMillis   int64 `json:"closesAt,omitempty"`
	EndsAtMillis     int64 `json:"endsAt,omitempty"`
	// Held is the step that waits for an operator; its time is Never.
	Held Step `json:"held,omitempty"`
	// Before are the settings that the occurrence has changed, as they were before.
	Before Values `json:"before,omitempty"`
}

// Gate is what a store goes by.
type Gate struct {
	// From GatherAtMillis on nobody is let in before OpensAtMillis, and nobody hears of a
	// number before SettlesAtMillis. All 0: there is no event.
	GatherAtMillis, SettlesAtMillis, OpensAtMillis int64
	// FromMicros and UptoMicros are those of the draw; 0 without one.
	FromMicros, UptoMicros int64
	// BehindMicros is the end of the earlier draws' ranges of scores. Newcomers stand behind it.
	BehindMicros int64
}

// Holds reports whether nobody is let in at the time.
func (g Gate) Holds(nowMillis int64) bool {
	return g.GatherAtMillis <= nowMillis && nowMillis < g.OpensAtMillis
}

// Gathers reports whether nobody hears of a number at the time.
func (g Gate) Gathers(nowMillis int64) bool {
	return g.Holds(nowMillis) && nowMillis < g.SettlesAtMillis
}

// Draws reports whether a visitor who joins at the time gets a place by the draw.
func (g Gate) Draws(nowMillis int64) bool { return g.UptoMicros > 0 && g.Gathers(nowMillis) }

// Drew reports whether a visitor with that arrival got a place by the draw that the gate is of.
func (g Gate) Drew(arrivedAtMicros int64) bool {
	return g.UptoMicros > 0 && arrivedAtMicros/1000 >= g.GatherAtMillis && arrivedAtMicros/1000 < g.SettlesAtMillis
}

// Drawn reports whether it is the gate's draw that gives the score.
func (g Gate) Drawn(d Drawn) bool {
	return d.FromMicros == g.FromMicros && d.UptoMicros == g.UptoMicros && g.Scores(d.ScoreMicros)
}

// Scores reports whether the draw gives such scores.
func (g Gate) Scores(micros int64) bool { return g.FromMicros <= micros && micros < g.UptoMicros }

// Behind is the arrival of a visitor whom no draw gives a place: the time itself, or later, so that the visitor
// stands behind all who were drawn.
func (g Gate) Behind(arrivesAtMicros int64) int64 {
	arrivesAtMicros = max(arrivesAtMicros, g.BehindMicros)
	if g.UptoMicros > 0 && arrivesAtMicros/1000 >= g.GatherAtMillis {
		arrivesAtMicros = max(arrivesAtMicros, g.UptoMicros)
	}
	return arrivesAtMicros
}

// WaitsSince is when the wait of a visitor began who is let in now: at the arrival, or at the opening if that was
// later. All times are in Unix milliseconds.
func (g Gate) WaitsSince(arrivedAtMillis, nowMillis int64) int64 {
	if g.OpensAtMillis <= nowMillis {
		return max(arrivedAtMillis, g.OpensAtMillis)
	}
	return arrivedAtMillis
}

// Gate is what a store goes by in this state.
func (s State) Gate() Gate {
	var g Gate
	p, draw := s.Now, s.Draw()
	for i := range s.Draws {
		if d := &s.Draws[i]; d != draw {
			g.BehindMicros = max(g.BehindMicros, d.UptoMicros)
		}
	}
	if p == nil || p.PreQueueAtMillis == Never || p.PreQueueAtMillis >= p.OpensAtMillis {
		return g
	}
	g.GatherAtMillis, g.SettlesAtMillis, g.OpensAtMillis = p.PreQueueAtMillis, p.SettlesAtMillis, p.OpensAtMillis
	if draw != nil {
		g.FromMicros, g.UptoMicros = draw.FromMicros, draw.UptoMicros
	}
	return g
}

// Draw is the draw of the occurrence that is next or under way; nil if there is none.
func (s State) Draw() *Draw {
	if n := len(s.Draws); s.Now != nil && s.Now.Order == OrderDraw && n > 0 && s.Draws[n-1].Event == s.Now.Event.Name {
		return &s.Draws[n-1]
	}
	return nil
}

// Unopened reports whether an occurrence has begun by the time and is not known to have
// opened.
func (s State) Unopened(nowMillis int64) bool {
	p := s.Now
	return p != nil && (p.Phase == PhaseGathering || p.Phase == PhaseAnnounced && p.PreQueueAtMillis <= nowMillis)
}

// IsZero reports whether nothing is known.
func (s State) IsZero() bool { return s.Now == nil && len(s.Draws) == 0 && len(s.Done) == 0 }

// clone is a copy that shares nothing with s.
func (s State) clone() State {
	if s.Now != nil {
		s.Now = new(*s.Now)
	}
	s.Draws, s.Done = slices.Clone(s.Draws), slices.Clone(s.Done)
	return s
}

// Announce returns the state with the next occurrence of the list as Now; ok is false if there is none. commit makes
// the nonce of a new draw, and the commitment that follows from it.
func (s State) Announce(list []Event, now time.Time, commit func(event string) (nonce, commitment string)) (next State, ok bool) {
	var first *Occurrence
	for _, e := range list {
		if o, comes := s.coming(e, now); comes && (first == nil || o.Opens.Before(first.Opens)) {
			first = &o
		}
	}
	if first == nil {
		return s, false
	}
	next = s.clone()
	p := first.announced()
	next.Now = p
	// Visitors who came before the announcement stand by arrival.
	if p.PreQueueAtMillis < p.OpensAtMillis {
		p.PreQueueAtMillis = max(p.PreQueueAtMillis, now.UnixMilli()+1)
		p.SettlesAtMillis = max(p.SettlesAtMillis, p.PreQueueAtMillis)
	}
	if p.Order == OrderDraw {
		d := Draw{Event: p.Event.Name}
		d.Nonce, d.Commitment = commit(p.Event.Name)
		next.Draws = append(next.Draws, d)
		next.Draws = next.Draws[max(0, len(next.Draws)-maxDraws):]
		next.fit(now.UnixMilli())
	}
	return next, true
}

// coming is the first occurrence of an event that opens after the time and is not done.
func (s State) coming(e Event, now time.Time) (o Occurrence, ok bool) {
	after := now
	for _, d := range s.Done {
		if done := time.UnixMilli(d.AtMillis); d.Event == e.Name && done.After(after) {
			after = done
		}
	}
	return e.Next(after)
}

// Of is the occurrence of a listed event that an operator means now: Now, if that is of this event, else the first
// that is to come; nil if there is none.
func (s State) Of(e Event, now time.Time) *Progress {
	if s.Now != nil && s.Now.Event.Name == e.Name {
		return s.Now
	}
	o, ok := s.coming(e, now)
	if !ok {
		return nil
	}
	return o.announced()
}

// announced is an occurrence of which no step was made.
func (o Occurrence) announced() *Progress {
	p := &Progress{
		Event: o.Event, ListedMillis: o.Opens.UnixMilli(), Phase: PhaseAnnounced, Order: cmp.Or(o.Event.Order, OrderArrival),
	}
	p.take(o)
	return p
}

// take takes over the times of an occurrence.
func (p *Progress) take(o Occurrence) {
	millis := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixMilli()
	}
	p.PreQueueAtMillis, p.SettlesAtMillis, p.OpensAtMillis = millis(o.PreQueue), millis(o.Settles), millis(o.Opens)
	p.ClosesAtMillis, p.EndsAtMillis = millis(o.Closes), millis(o.Ends)
}

// fit takes over the times of Now into its draw, as far as they may still change. Once people gather, the range of
// scores stays as it is. Once the draw has closed, it does not open again.
func (s *State) fit(nowMillis int64) {
	d := s.Draw()
	if d == nil {
		return
	}
	p := s.Now
	coming := nowMillis < d.GathersAtMillis || d.FromMicros == 0
	if coming && p.PreQueueAtMillis < p.OpensAtMillis {
		// The opening of an earlier draw may have been skipped. Visitors who are not drawn stand behind that
		// draw's range until the range has ended, and people gather for this one after it.
		for _, before := range s.Draws[:len(s.Draws)-1] {
			p.PreQueueAtMillis = max(p.PreQueueAtMillis, (before.UptoMicros+leastRange)/1000)
		}
		p.SettlesAtMillis = max(p.SettlesAtMillis, p.PreQueueAtMillis)
	}
	d.OpensAtMillis = p.OpensAtMillis
	if nowMillis < d.SettlesAtMillis || d.SettlesAtMillis == 0 {
		d.SettlesAtMillis = p.SettlesAtMillis
	}
	d.SettlesAtMillis = min(d.SettlesAtMillis, p.OpensAtMillis)
	p.SettlesAtMillis = d.SettlesAtMillis
	if !coming {
		return
	}
	d.GathersAtMillis = p.PreQueueAtMillis
	// A step that is held has no time. The range stays what it was.
	if p.PreQueueAtMillis != Never {
		d.FromMicros = p.PreQueueAtMillis*1000 + d.beginsMicros()
	}
	if p.SettlesAtMillis != Never {
		d.UptoMicros = p.SettlesAtMillis * 1000
	}
	d.UptoMicros = max(d.UptoMicros, d.FromMicros+leastRange)
}

// beginsMicros is how long after the time at which people gather the range of scores begins, 0 to 999. The nonce decides
// it, so that the draws of a zone that was deleted and of the one made in its place differ, though the same event is on
// both lists.
func (d *Draw) beginsMicros() int64 { return int64(crc32.ChecksumIEEE([]byte(d.Nonce)) % 1000) }

// leastRange is how wide a draw's range of scores is at least, in microseconds.
const leastRange = 1_000_000

// begun reports whether people gather, or will by the time at which a change takes effect.
func (p *Progress) begun(now time.Time) bool {
	return p.Phase != PhaseAnnounced || p.PreQueueAtMillis <= now.UnixMilli()+settleMargin
}

// Next is the step that is next, and when it is due.
func (p *Progress) Next() (step Step, atMillis int64) {
	switch p.Phase {
	case PhaseAnnounced:
		if p.PreQueueAtMillis < p.OpensAtMillis || p.Held == StepPreQueue {
			return StepPreQueue, p.PreQueueAtMillis
		}
		return StepOpens, p.OpensAtMillis
	case PhaseGathering:
		return StepOpens, p.OpensAtMillis
	case PhaseOpen:
		if p.ClosesAtMillis > 0 {
			return StepCloses, p.ClosesAtMillis
		}
	case PhaseClosed:
	}
	if p.EndsAtMillis > 0 {
		return StepEnds, p.EndsAtMillis
	}
	return "", Never
}

// at points to the time of a step.
func (p *Progress) at(step Step) *int64 {
	return map[Step]*int64{
		StepPreQueue: &p.PreQueueAtMillis, StepOpens: &p.OpensAtMillis, StepCloses: &p.ClosesAtMillis, StepEnds: &p.EndsAtMillis,
	}[step]
}

// Step returns when a step is due, in Unix milliseconds, and whether it was made. The time is 0 if the occurrence has
// no such step, and Never while the step is held.
func (p *Progress) Step(step Step) (atMillis int64, made bool) {
	if step == StepPreQueue && p.Held != step && p.PreQueueAtMillis >= p.OpensAtMillis {
		return 0, false
	}
	return *p.at(step), p.made(step)
}

// Listed is the event's first occurrence, as it is listed.
func (e Event) Listed() *Progress {
	o, err := e.first()
	if err != nil {
		return &Progress{Event: e, Phase: PhaseAnnounced, Order: cmp.Or(e.Order, OrderArrival)}
	}
	return o.announced()
}

// made reports whether a step was made.
func (p *Progress) made(step Step) bool {
	after := map[Step]Phase{StepPreQueue: PhaseGathering, StepOpens: PhaseOpen, StepCloses: PhaseClosed}[step]
	order := []Phase{PhaseAnnounced, PhaseGathering, PhaseOpen, PhaseClosed}
	return after != "" && slices.Index(order, p.Phase) >= slices.Index(order, after)
}

// Made is the state after a step other than ends, for which see Over.
func (s State) Made(step Step) State {
	next := s.clone()
	next.Now.Phase = map[Step]Phase{StepPreQueue: PhaseGathering, StepOpens: PhaseOpen, StepCloses: PhaseClosed}[step]
	return next
}

// Over is the state after the occurrence. The occurrence is not announced again, unless it was taken off the list
// before it opened, and is listed anew. A draw into which nobody came is dropped, since newcomers must not stand behind
// a time that is to come.
func (s State) Over(list []Event, now time.Time) State {
	next := s.clone()
	p := next.Now
	switch d, nowMillis := next.Draw(), now.UnixMilli()+settleMargin; {
	case d == nil:
	case nowMillis < d.GathersAtMillis:
		next.Draws = slices.Delete(next.Draws, len(next.Draws)-1, len(next.Draws))
	default:
		// No newcomer is drawn: each arrives at the end of the range, or after it.
		d.SettlesAtMillis = min(d.SettlesAtMillis, max(nowMillis, d.UptoMicros/1000))
	}
	if next.Now = nil; len(next.Draws) == 0 {
		next.Draws = nil
	}
	lists := func(name string) bool { return slices.ContainsFunc(list, func(e Event) bool { return e.Name == name }) }
	next.Done = slices.DeleteFunc(next.Done, func(d Done) bool { return d.Event == p.Event.Name || !lists(d.Event) })
	if lists(p.Event.Name) || p.made(StepOpens) {
		next.Done = append(next.Done, Done{p.Event.Name, p.ListedMillis})
	}
	return next
}

// settleMargin, in milliseconds, is how long before people settle an operator can no longer move that time: the store's
// clock goes on while the change is on its way.
const settleMargin = 2_000

// Listed takes over changes of the list into Now. ok is false if nothing has changed. listed is false if the event is
// not on the list any more.
func (s State) Listed(list []Event, now time.Time) (next State, listed, ok bool) {
	i := slices.IndexFunc(list, func(e Event) bool { return e.Name == s.Now.Event.Name })
	if i < 0 {
		return s, false, true
	}
	e := list[i]
	if e.same(s.Now.Event) {
		return s, true, false
	}
	next = s.clone()
	p := next.Now
	was := *p
	begun := was.begun(now)
	if !begun && cmp.Or(e.Order, OrderArrival) != was.Order {
		// The occurrence will be announced anew, with a draw or without.
		if next.Now = nil; was.Order == OrderDraw {
			next.Draws = next.Draws[:len(next.Draws)-1]
		}
		if len(next.Draws) == 0 {
			next.Draws = nil
		}
		return next, true, true
	}
	o, err := e.first()
	switch {
	case err != nil:
		return s, true, false
	case e.sameTimes(was.Event), begun && e.Recurs != "" && o.Opens.Before(now):
		o = o.at(time.UnixMilli(was.ListedMillis))
	case e.Recurs != "" && o.Opens.Before(now):
		o, _ = e.Next(now)
	}
	p.Event, p.ListedMillis = e, o.Opens.UnixMilli()
	p.take(o)
	p.keep(&was, now)
	next.fit(now.UnixMilli() + settleMargin)
	return next, true, true
}

// keep restores, from the occurrence as it was, the times that a new list does not change: those of steps that were
// made, moved, held or skipped, and the time at which people have settled.
func (p *Progress) keep(was *Progress, now time.Time) {
	for _, step := range Steps[1:] {
		if was.made(step) || was.Held == step || was.ListedAt(step) == p.ListedAt(step) {
			*p.at(step) = *was.at(step)
		}
	}
	begun := was.begun(now)
	switch listed := was.ListedAt(StepPreQueue) != p.ListedAt(StepPreQueue); {
	case begun, was.Held == StepPreQueue, !listed && was.PreQueueAtMillis < min(was.OpensAtMillis, p.OpensAtMillis):
		p.PreQueueAtMillis = was.PreQueueAtMillis
	case !listed && was.PreQueueAtMillis == was.OpensAtMillis: // nobody gathers
		p.PreQueueAtMillis = p.OpensAtMillis
	}
	nowMillis := now.UnixMilli() + settleMargin
	switch {
	case !begun:
		if p.PreQueueAtMillis < p.OpensAtMillis { // visitors who came before stand by arrival
			p.PreQueueAtMillis = max(p.PreQueueAtMillis, nowMillis)
		}
		p.settle()
	case nowMillis < was.SettlesAtMillis:
		// Visitors who have joined stay among those who gathered.
		p.settle()
		p.SettlesAtMillis = max(p.SettlesAtMillis, nowMillis)
	default:
		p.SettlesAtMillis = was.SettlesAtMillis
	}
	p.SettlesAtMillis = min(p.SettlesAtMillis, p.OpensAtMillis)
}

// same reports whether two entries of a list make the same occurrence.
func (e Event) same(other Event) bool {
	return e.sameTimes(other) && e.Order == other.Order && e.DrawClosesSeconds == other.DrawClosesSeconds &&
		fmt.Sprint(e.Settings, e.Texts) == fmt.Sprint(other.Settings, other.Texts)
}
