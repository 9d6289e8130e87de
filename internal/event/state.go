package event

import (
	"hash/crc32"
	"slices"
	"time"
)

// Step is one of the steps of an event.
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

// Phase is which step an event made last.
type Phase string

// The phases, in their order.
const (
	// PhaseAnnounced: none yet.
	PhaseAnnounced Phase = "announced"
	PhaseGathering Phase = "gathering"
	PhaseOpen      Phase = "open"
	PhaseClosed    Phase = "closed"
)

// FixedBefore is how long before its first step an event is fixed: long enough for everybody to hear of it and to keep
// the commitment of a draw, and short enough that a mistake which is found the day before is mended in the list.
const FixedBefore = time.Hour

// Never, in Unix milliseconds, is the time of a step that is held. A double holds it exactly.
const Never = 1<<53 - 1

// maxDraws is how many draws a zone remembers: one each day of the week in which a draw can be looked at.
const maxDraws = 8

// State is how far a zone's events are. The servers keep it; no operator sets it. It holds no secret.
type State struct {
	Now   *Progress `json:"now,omitempty" doc:"The event that is next or under way; absent for none."`
	Draws []Draw    `json:"draws,omitempty" doc:"The latest draws; that of now, if it has one, is the last. What each visitor's place follows from is told when they open." example:"[]"`
	Done  []Done    `json:"done,omitempty" doc:"The events of the list that are over, or were cancelled." example:"[{event: noon, at: 1795262400000}]"`
}

// Done is an event that is over. One of that name that is listed for another time is another event.
type Done struct {
	Event    string `json:"event" doc:"Its name." example:"noon"`
	AtMillis int64  `json:"at" doc:"When it was listed to open, in Unix milliseconds." example:"1795262400000"`
}

// Progress is an event that is next or under way. Its times are Unix milliseconds on the store's clock; 0 for a step
// that there is not, Never for one that is held.
type Progress struct {
	Event Event `json:"event" doc:"The entry of the list."`
	// Fixed: it is FixedBefore before the first step, or later. From then on there is a draw, too, if there is to be one.
	// An event that is not fixed is as it is listed.
	Fixed bool  `json:"fixed" doc:"Whether the list cannot change it any more, from an hour before its first step on." example:"true"`
	Phase Phase `json:"phase" doc:"Which step was made last." example:"announced"`
	// Order is the event's; arrival if nobody could gather for a draw, since it was fixed too late.
	Order Order `json:"order" doc:"The order in which those go in who gathered." example:"arrival"`

	PreQueueAtMillis int64  `json:"preQueueAt" doc:"From when on people gather, in Unix milliseconds; 9007199254740991 for a step that is held." example:"1795258800000"`
	SettlesAtMillis  int64  `json:"settlesAt" doc:"From when on everybody has a place and hears of it." example:"1795262370000"`
	OpensAtMillis    int64  `json:"opensAt" doc:"When people are admitted." example:"1795262400000"`
	ClosesAtMillis   int64  `json:"closesAt,omitempty" doc:"From when on there are no newcomers." example:"1795269600000"`
	EndsAtMillis     int64  `json:"endsAt,omitempty" doc:"When the settings from before the event hold again." example:"1795273200000"`
	Held             Step   `json:"held,omitempty" doc:"The first of the steps that wait for an operator."`
	Before           Values `json:"before,omitempty" doc:"The settings that it changed, as they were." example:"{perMinute: '600'}"`
}

// Gate is what a store goes by.
type Gate struct {
	// From GatherAtMillis on nobody is admitted before OpensAtMillis, and nobody hears of a
	// number before SettlesAtMillis. All 0: there is no event.
	GatherAtMillis, SettlesAtMillis, OpensAtMillis int64
	// FromMicros and UptoMicros are those of the draw; 0 without one.
	FromMicros, UptoMicros int64
	// BehindMicros is the end of the earlier draws' ranges of scores. Newcomers stand behind it.
	BehindMicros int64
}

// Holds reports whether nobody is admitted at the time.
func (g Gate) Holds(nowMillis int64) bool {
	return g.GatherAtMillis <= nowMillis && nowMillis < g.OpensAtMillis
}

// Gathers reports whether nobody hears of a number at the time.
func (g Gate) Gathers(nowMillis int64) bool {
	return g.Holds(nowMillis) && nowMillis < g.SettlesAtMillis
}

// DrawOpenAt reports whether a visitor who joins at the time gets a place by the draw.
func (g Gate) DrawOpenAt(nowMillis int64) bool { return g.UptoMicros > 0 && g.Gathers(nowMillis) }

// TookPart reports whether a visitor with that arrival got a place by the draw that the gate is of.
func (g Gate) TookPart(arrivedAtMicros int64) bool {
	return g.UptoMicros > 0 && arrivedAtMicros/1000 >= g.GatherAtMillis && arrivedAtMicros/1000 < g.SettlesAtMillis
}

// SameDraw reports whether d is a score of the gate's draw.
func (g Gate) SameDraw(d Drawn) bool {
	return d.FromMicros == g.FromMicros && d.UptoMicros == g.UptoMicros && g.Scores(d.ScoreMicros)
}

// Outdates reports whether one who stands there came before people gathered for the draw, which then gives a place as to everybody else.
func (g Gate) Outdates(standsAtMicros, nowMillis int64) bool {
	return g.UptoMicros > 0 && nowMillis >= g.GatherAtMillis && standsAtMicros < g.FromMicros
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

// WaitsSince is when the wait of a visitor began who is admitted now: at the arrival, or at the opening if that was
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

// Draw is the draw of the event that is next or under way; nil if there is none, or not yet.
func (s State) Draw() *Draw {
	if n := len(s.Draws); s.Now != nil && s.Now.Fixed && s.Now.Order == OrderDraw && n > 0 && s.Draws[n-1].Event == s.Now.Event.Name {
		return &s.Draws[n-1]
	}
	return nil
}

// Unopened reports whether an event has begun by the time and is not known to have opened.
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

// Announce returns the state with the event of the list that comes next as Now, and fixes it when it is time. ok is false
// if nothing changes, as while an event that is fixed has a step to come. commit makes the nonce of a new draw, and the
// commitment that follows from it.
func (s State) Announce(list []Event, now time.Time, commit func(event string) (nonce, commitment string)) (next State, ok bool) {
	if s.underWay() {
		return s, false
	}
	next = s.clone()
	if s.Now != nil && s.Now.Fixed {
		next = s.Over(list, now)
	}
	first := next.coming(list, now)
	switch {
	case first == nil && s.Now != nil && s.Now.Fixed && find(list, s.Now.Event.Name) != nil:
		return s, false // it has made its last step, and goes on
	case first == nil:
		next.Now = nil
		return next, s.Now != nil
	}
	next.Now = first
	if now.UnixMilli() >= first.fixedAt() {
		next.fix(now, commit)
		return next, true
	}
	return next, s.Now == nil || !s.Now.Event.same(first.Event)
}

// underWay reports whether Now is fixed, and has a step to come.
func (s State) underWay() bool {
	if s.Now == nil || !s.Now.Fixed {
		return false
	}
	step, _ := s.Now.Next()
	return step != ""
}

// coming is the first event of the list that is to open and is not done, as it is listed; nil if there is none. One
// that is Now comes also if its opening has passed: the servers were away.
func (s State) coming(list []Event, now time.Time) (first *Progress) {
	for _, e := range list {
		p := e.Listed()
		known := s.Now != nil && s.Now.Event.same(e)
		if s.done(p) || p.OpensAtMillis <= now.UnixMilli() && !known {
			continue
		}
		if first == nil || p.OpensAtMillis < first.OpensAtMillis {
			first = p
		}
	}
	return first
}

func (s State) done(p *Progress) bool {
	return slices.Contains(s.Done, Done{p.Event.Name, p.Event.Listed().OpensAtMillis})
}

// Of is what a listed event does now: Now, if that is of this event, else the event as it is listed; nil if it is over.
func (s State) Of(e Event, now time.Time) *Progress {
	if p := s.Now; p != nil && p.Event.Name == e.Name && (p.Fixed || p.Event.same(e)) {
		return p
	}
	return State{Done: s.Done}.coming([]Event{e}, now)
}

// fixedAt is when the list cannot change the event any more, in Unix milliseconds.
func (p *Progress) fixedAt() int64 {
	return min(p.PreQueueAtMillis, p.OpensAtMillis) - FixedBefore.Milliseconds()
}

// fix fixes Now, and begins its draw. Visitors who came before stand by arrival.
func (s *State) fix(now time.Time, commit func(event string) (nonce, commitment string)) {
	p := s.Now
	p.Fixed = true
	p.PreQueueAtMillis = min(max(p.PreQueueAtMillis, now.UnixMilli()+1), p.OpensAtMillis)
	p.SettlesAtMillis = max(p.SettlesAtMillis, p.PreQueueAtMillis)
	if p.PreQueueAtMillis >= p.SettlesAtMillis {
		p.Order = OrderArrival
	}
	if p.Order == OrderArrival {
		return
	}
	d := Draw{Event: p.Event.Name}
	d.Nonce, d.Commitment = commit(p.Event.Name)
	s.Draws = append(s.Draws, d)
	s.Draws = s.Draws[max(0, len(s.Draws)-maxDraws):]
	s.fit(now.UnixMilli())
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
		// The event of an earlier draw may have been cancelled. Visitors who are not drawn stand behind that
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

// Next is the step that is next, and when it is due; "" and Never if there is none.
func (p *Progress) Next() (step Step, atMillis int64) {
	for _, step := range Steps {
		if at, made := p.Step(step); at != 0 && !made {
			return step, at
		}
	}
	return "", Never
}

// at points to the time of a step.
func (p *Progress) at(step Step) *int64 {
	return map[Step]*int64{
		StepPreQueue: &p.PreQueueAtMillis, StepOpens: &p.OpensAtMillis, StepCloses: &p.ClosesAtMillis, StepEnds: &p.EndsAtMillis,
	}[step]
}

// Step returns when a step is due, in Unix milliseconds, and whether it was made. The time is 0 if the event has no such
// step, and Never while the step is held.
func (p *Progress) Step(step Step) (atMillis int64, made bool) {
	if step == StepPreQueue && p.PreQueueAtMillis != Never && p.PreQueueAtMillis >= p.OpensAtMillis {
		return 0, false
	}
	return *p.at(step), p.made(step)
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

// Over is the state after Now, which does not take place again. A draw into which nobody came is dropped, since newcomers
// must not stand behind a time that is to come.
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
	next.Done = slices.DeleteFunc(next.Done, func(d Done) bool { return d.Event == p.Event.Name || find(list, d.Event) == nil })
	next.Done = append(next.Done, Done{p.Event.Name, p.Event.Listed().OpensAtMillis})
	return next
}

// settleMargin, in milliseconds, is how long before people settle an operator can no longer move that time: the store's
// clock goes on while the change is on its way.
const settleMargin = 2_000

// ListedAt is when a step was due by the list, in Unix milliseconds, whatever an operator did to it since; 0 for a step
// that the list does not have.
func (p *Progress) ListedAt(step Step) int64 {
	at, _ := p.Event.Listed().Step(step)
	return at
}

// NextMillis is when the next step is due, in Unix milliseconds; 0 if there is none, or if it is held.
func (s State) NextMillis() int64 {
	if s.Now != nil {
		if _, at := s.Now.Next(); at != Never {
			return at
		}
	}
	return 0
}

// LateMillis is for how many milliseconds the next step has been overdue; 0 if it is not.
func (s State) LateMillis(nowMillis int64) int64 {
	if at := s.NextMillis(); at != 0 {
		return max(0, nowMillis-at)
	}
	return 0
}

// HeldMillis is how many milliseconds ago a step that is held was due by the list; 0 if none is held, or it was not due.
func (s State) HeldMillis(nowMillis int64) int64 {
	if s.Now == nil || s.Now.Held == "" {
		return 0
	}
	return max(0, nowMillis-s.Now.ListedAt(s.Now.Held))
}
