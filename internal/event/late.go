package event

import "time"

// ListedAt is when a step was listed to be made, Unix milliseconds, whatever was done to it
// since; 0 for a step that was not listed.
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

// NextMillis is when the next step is due, Unix milliseconds; 0 if there is none, or it is
// held.
func (s State) NextMillis() int64 {
	if s.Now == nil {
		return 0
	}
	step, at := s.Now.Next()
	if step == "" || at == Never {
		return 0
	}
	return at
}

// LateMillis is for how long the next step has been due and was not made.
func (s State) LateMillis(nowMillis int64) int64 {
	at := s.NextMillis()
	if at == 0 {
		return 0
	}
	return max(0, nowMillis-at)
}

// HeldMillis is for how long a step that is held would have been due by the list.
func (s State) HeldMillis(nowMillis int64) int64 {
	if s.Now == nil || s.Now.Held == "" {
		return 0
	}
	return max(0, nowMillis-s.Now.ListedAt(s.Now.Held))
}
