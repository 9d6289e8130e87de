package event

import (
	"fmt"
	"slices"
	"time"
)

// Hold has a step wait until it is moved. fault says in a sentence why that cannot be; "" if it can.
func (s State) Hold(step Step, now time.Time) (next State, fault string) {
	if fault := s.open(step, now); fault != "" {
		return s, fault
	}
	next = s.clone()
	p := next.Now
	if *p.at(step) == Never {
		return s, fmt.Sprintf("%s is held already", step)
	}
	*p.at(step) = Never
	if p.hold(); step == StepOpens && now.UnixMilli()+settleMargin < p.SettlesAtMillis {
		p.SettlesAtMillis = Never
	}
	next.fit(now.UnixMilli() + settleMargin)
	return next, ""
}

// Move sets the time of a step, which must be after now, and ends a hold of that step. The time at which people settle
// moves with the opening, unless they have settled. fault says in a sentence why that cannot be; "" if it can.
func (s State) Move(step Step, to, now time.Time) (next State, fault string) {
	if fault := s.open(step, now); fault != "" {
		return s, fault
	}
	if !to.After(now) {
		return s, fmt.Sprintf("%s is in the past", to.Format(time.RFC3339))
	}
	next = s.clone()
	p := next.Now
	*p.at(step) = to.UnixMilli()
	p.hold()
	if nowMillis := now.UnixMilli() + settleMargin; step == StepOpens && nowMillis < p.SettlesAtMillis || !p.begun(now) {
		p.settle()
		if p.begun(now) && p.SettlesAtMillis < nowMillis {
			return s, fmt.Sprintf("%s is too soon: visitors who gather must hear of the opening %d s before it", to.Format(time.RFC3339), p.Event.drawCloses()/1000)
		}
	}
	if fault := p.inOrder(); fault != "" {
		return s, fault
	}
	next.fit(now.UnixMilli() + settleMargin)
	return next, ""
}

// Open has Now open as soon as may be: when those who gathered have heard of it, or at once if nobody does. It never makes
// the opening later, so it can be repeated. fault says in a sentence why that cannot be; "" if it can.
func (s State) Open(now time.Time) (next State, fault string) {
	if fault := s.open(StepOpens, now); fault != "" {
		return s, fault
	}
	next = s.clone()
	p, at := next.Now, now.UnixMilli()+settleMargin
	switch {
	case !p.begun(now) && p.Order == OrderDraw:
		return s, "nobody has gathered for the draw yet: move preQueue first"
	case !p.begun(now): // nobody is to gather
		p.PreQueueAtMillis = at
	case at < p.SettlesAtMillis:
		at += p.Event.drawCloses() + settleMargin
	default: // the draw has closed, perhaps a moment ago
		at = max(at, p.SettlesAtMillis+p.Event.drawCloses())
	}
	return next.Move(StepOpens, time.UnixMilli(min(at, p.OpensAtMillis)), now)
}

// Misses says which event of the list would not take place because a step was moved, in a sentence: it would open
// while Now is still under way; "" for none. was is the state before the move.
func (s State) Misses(list []Event, was State, now time.Time) string {
	after, over := max(was.Now.over(), now.UnixMilli()), s.Now.over()
	for _, e := range list {
		if opens := e.Listed().OpensAtMillis; e.Name != s.Now.Event.Name && after < opens && opens <= over {
			return fmt.Sprintf("%q would be under way until %s, and %q, which opens at %s, would not take place",
				s.Now.Event.Name, inUTC(over), e.Name, inUTC(opens))
		}
	}
	return ""
}

// ListFault says why a list may not take the place of another, in a sentence; "" if it may. An event that is new, or
// has other times, must open after now, and after the event that is fixed is over.
func (s State) ListFault(was, list []Event, now time.Time) string {
	for _, e := range list {
		if before := find(was, e.Name); before != nil && before.sameTimes(e) {
			continue
		}
		switch p := e.Listed(); {
		case p.OpensAtMillis <= now.UnixMilli():
			return fmt.Sprintf("%q is in the past: it opens at %s", e.Name, inUTC(p.OpensAtMillis))
		case s.done(p):
			return fmt.Sprintf("%q was cancelled: list it for another time, or under another name", e.Name)
		case s.underWay() && e.Name != s.Now.Event.Name && p.PreQueueAtMillis <= s.Now.over():
			return fmt.Sprintf("%q begins at %s, and %q, which is fixed, is not over until %s",
				e.Name, inUTC(p.PreQueueAtMillis), s.Now.Event.Name, inUTC(s.Now.over()))
		}
	}
	return ""
}

// Refuses says what a list would change of the event that is fixed, and how to do that instead, in a sentence; "" if it
// changes nothing of it.
func (s State) Refuses(zoneID string, list []Event) string {
	if !s.underWay() {
		return ""
	}
	name := s.Now.Event.Name
	if e := find(list, name); e != nil && e.same(s.Now.Event) {
		return ""
	}
	return fmt.Sprintf("the event %[2]s is fixed, since its first step is less than an hour away or was made: a list cannot change it or take it off; "+
		"to move a step: queue-server events move %[1]s %[2]s opens TIME; to cancel it: queue-server events cancel %[1]s %[2]s; "+
		"to change a setting once it has begun: queue-server zones set %[1]s", zoneID, name)
}

// hold sets which step is Held.
func (p *Progress) hold() {
	p.Held = ""
	if i := slices.IndexFunc(Steps, func(step Step) bool { return *p.at(step) == Never }); i >= 0 {
		p.Held = Steps[i]
	}
}

// Stays says why the zone cannot be deleted now, and what to do before, in a sentence; "" if it can.
func (s State) Stays(zoneID string) string {
	if !s.underWay() {
		return ""
	}
	return fmt.Sprintf("the event %s is fixed: cancel it before you delete the zone: queue-server events cancel %s %s", s.Now.Event.Name, zoneID, s.Now.Event.Name)
}

// over is the time of the last step that has a time, in Unix milliseconds.
func (p *Progress) over() (last int64) {
	for _, step := range Steps {
		if at := *p.at(step); at != Never {
			last = max(last, at)
		}
	}
	return last
}

// settle sets the time at which people settle from the opening: Never while the opening is held.
func (p *Progress) settle() {
	if p.SettlesAtMillis = Never; p.OpensAtMillis != Never {
		p.SettlesAtMillis = max(p.PreQueueAtMillis, p.OpensAtMillis-p.Event.drawCloses())
	}
}

// inOrder says which step would not be after the one before it, in a sentence; "" for none.
func (p *Progress) inOrder() string {
	last, name := int64(0), Step("")
	for _, step := range Steps {
		at := *p.at(step)
		if at == 0 || at == Never {
			continue
		}
		if at < last || at == last && name != StepPreQueue {
			return fmt.Sprintf("%s would not be after %s", step, name)
		}
		last, name = at, step
	}
	if p.Order == OrderDraw && p.SettlesAtMillis <= p.PreQueueAtMillis && p.OpensAtMillis != Never {
		return "nobody could gather before the draw closes, which is drawClosesSeconds before opens"
	}
	return ""
}

// open says in a sentence why a step cannot be held or moved; "" if it can.
func (s State) open(step Step, now time.Time) string {
	switch p := s.Now; {
	case p == nil:
		return "no event is to come or under way"
	case !slices.Contains(Steps, step):
		return fmt.Sprintf("step %q must be preQueue, opens, closes or ends", step)
	case !p.Fixed:
		return NotFixed(p)
	case p.made(step), step == StepPreQueue && p.begun(now), *p.at(step) > 0 && *p.at(step) <= now.UnixMilli():
		return fmt.Sprintf("%s was made already", step)
	case *p.at(step) == 0:
		return fmt.Sprintf("%q has no step %s", p.Event.Name, step)
	}
	return ""
}

// NotFixed says that an event can still be changed in the events of its zone, in a sentence.
func NotFixed(p *Progress) string {
	return fmt.Sprintf("%s is not fixed until %s: until then, change it in the events of the zone", p.Event.Name, inUTC(p.fixedAt()))
}
