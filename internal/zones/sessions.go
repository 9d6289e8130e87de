package zones

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
)

// Idle counts the sessions of a zone that this server knows, and how many of them have asked for nothing for that long: whole
// minutes, at most five. The counts are up to 9 s old.
func (r *Zones) Idle(zoneID string, length time.Duration) (sessions, idle int64) {
	z := r.Known(zoneID)
	if z == nil {
		return 0, 0
	}
	for i := range z.crowd.parts {
		p := &z.crowd.parts[i]
		p.mu.Lock()
		for minutes, n := range p.idle {
			sessions += n
			if time.Duration(minutes)*time.Minute >= length {
				idle += n
			}
		}
		p.mu.Unlock()
	}
	return sessions, idle
}

// Sessions returns the sessions of a zone that this server knows whose admissions are the newest, at most so many, the
// newest first.
func (r *Zones) Sessions(zoneID string, most int) []line.Session {
	z := r.Known(zoneID)
	if z == nil {
		return nil
	}
	type named struct {
		jti
		session
	}
	var all []named
	s, now := z.settings.Load(), r.Millis()
	for i := range z.crowd.parts {
		p := &z.crowd.parts[i]
		p.mu.Lock()
		for j, is := range p.sessions {
			if gone, over := p.over[j]; is.until > now && (!over || gone.from > now) && !z.revokes(s, j) {
				all = append(all, named{j, is})
			}
		}
		p.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b named) int { return bytes.Compare(b.jti[:], a.jti[:]) })
	var out []line.Session
	for _, is := range all[:min(most, len(all))] {
		out = append(out, line.Session{
			JTI: uuid.UUID(is.jti).String(), AdmittedAtMillis: admittedAt(is.jti),
			SinceMillis: is.since, AskedMillis: is.asked, UntilMillis: is.until, Renewed: is.renewed,
		})
	}
	return out
}
