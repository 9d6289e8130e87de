package zones

import "time"

const (
	// askedWithin is for how long after a visitor or an operator asked this server about a zone it is looked at each second.
	askedWithin = 5 * time.Second
	// stepWithin is how long before a step of an event a zone is looked at each second.
	stepWithin = 5 * time.Minute
	// reckonedFor is for how many milliseconds after an answer NowMillis reckons: a zone that rests is looked at every 5 s.
	reckonedFor = 7_500
)

// asked notes that a visitor or an operator asks about the zone.
func (z *Zone) asked() {
	if now := z.zones.Millis(); now-z.askedAt.Load() > time.Second.Milliseconds() {
		z.askedAt.Store(now)
	}
}

// Rests reports whether a zone need not be observed each second: nobody asked this server about it lately, nobody waits, no step
// of an event is near, and there is nothing to put right. A zone with a cap never rests, since the store takes silence for an outage.
func (r *Zones) Rests(zoneID string) bool {
	z := r.Known(zoneID)
	if z == nil || !z.seen.Load() || z.brake.Load() != nil || !z.toldAll() || z.outage.troubled.Load() {
		return false
	}
	s, now := z.settings.Load(), r.Millis()
	if s.MaxInside > 0 || z.waiting.Load() > 0 || now-z.askedAt.Load() < askedWithin.Milliseconds() {
		return false
	}
	step := s.EventState.NextMillis()
	return step == 0 || step-now-z.ahead.Load() > stepWithin.Milliseconds()
}
