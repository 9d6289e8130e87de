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
	if p.Held != "" {
		return s, fmt.Sprintf("%s is held already", p.Held)
	}
	p.Held = step
	if *p.at(step) = Never; step == StepOpens && now.UnixMilli()+settleMargin < p.SettlesAtMillis {
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
	if p.Held == step {
		p.Held = ""
	}
	if nowMillis := now.UnixMilli() + settleMargin; step == StepOpens && nowMillis < p.SettlesAtMillis || !p.begun(now) {
		p.settle()
		if p.begun(now) && p.SettlesAtMillis < nowMillis {
			return s, fmt.Sprintf("%s is too soon: who gathers must hear of the opening, %d s before", to.Format(time.RFC3339), p.Event.drawCloses())
		}
	}
	if fault := p.inOrder(); fault != "" {
		return s, fault
	}
	next.fit(now.UnixMilli() + settleMargin)
	return next, ""
}

// Misses says which event of the list would not take place because a step was moved, in a sentence: it would open
// while Now is still under way; "" for none. was is the state before the move.
func (s State) Misses(list []Event, was State, now time.Time) string {
	over := s.Now.over()
	for _, e := range list {
		after := max(was.Now.over(), now.UnixMilli())
		if e.Name == s.Now.Event.Name {
			after = max(after, s.Now.ListedMillis)
		}
		if o, ok := e.Next(time.UnixMilli(after)); ok && o.Opens.UnixMilli() <= over {
			return fmt.Sprintf("%q would be under way until %s, and %q, which opens at %s, would not take place",
				s.Now.Event.Name, time.UnixMilli(over).UTC().Format(time.RFC3339), e.Name, o.Opens.UTC().Format(time.RFC3339))
		}
	}
	return ""
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
		p.SettlesAtMillis = max(p.PreQueueAtMillis, p.OpensAtMillis-p.Event.drawCloses()*1000)
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
		return "nobody could gather before the draw closes"
	}
	return ""
}

// Skip leaves out a step. Without preQueue nobody gathers. Without opens the occurrence is over (see Over). Without
// closes newcomers still come in. Without ends the event's settings stay. fault says in a sentence why that cannot be;
// "" if it can.
func (s State) Skip(step Step, now time.Time) (next State, over bool, fault string) {
	if fault := s.open(step, now); fault != "" {
		return s, false, fault
	}
	next = s.clone()
	p := next.Now
	if p.Held == step {
		p.Held = ""
	}
	switch step {
	case StepOpens:
		return s, true, ""
	case StepPreQueue:
		if p.Order == OrderDraw {
			return s, false, "without gathering there is no draw: skip opens, or set another order"
		}
		p.PreQueueAtMillis, p.SettlesAtMillis = p.OpensAtMillis, p.OpensAtMillis
	default:
		*p.at(step) = 0
	}
	next.fit(now.UnixMilli())
	return next, false, ""
}

// open says in a sentence why a step cannot be held, moved or skipped; "" if it can.
func (s State) open(step Step, now time.Time) string {
	switch p := s.Now; {
	case p == nil:
		return "no event is to come or under way"
	case !slices.Contains(Steps, step):
		return fmt.Sprintf("step %q must be preQueue, opens, closes or ends", step)
	case p.made(step), step == StepPreQueue && p.begun(now), *p.at(step) > 0 && *p.at(step) <= now.UnixMilli():
		return fmt.Sprintf("%s was made already", step)
	case *p.at(step) == 0:
		return fmt.Sprintf("%q has no step %s", p.Event.Name, step)
	}
	return ""
}
