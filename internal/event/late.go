package event

import "time"

// ListedAt is when a step was due by the list, in Unix milliseconds, whatever an operator did to it since; 0 for a step
// that the list does not have.
func (p *Progress) ListedAt(step Step) int64 {
	o, err := p.Event.first()
	if err != nil {
		return 0
	}
	var listed Progress
	listed.take(o.at(time.UnixMilli(p.ListedMillis)))
	if step == StepPreQueue && listed.PreQueueAtMillis == listed.OpensAtMillis {
		return 0
	}
	return *listed.at(step)
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
