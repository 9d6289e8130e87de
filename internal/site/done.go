package site

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// stays has a session count as inside, and reports whether it does: one that is done or revoked does not.
func stays(z *zones.Zone, q *request, is token.Session) bool {
	if z == nil {
		return true
	}
	over, donePaths := z.Here(is.Admission, is.Issued.Add(is.Length))
	if !over && len(donePaths) > 0 && q.ends() && fits(donePaths, q.uri) {
		z.End(is.Admission)
	}
	return !over
}

// fresh reports whether a good pass may begin a session: it is not over, and where those inside are counted, the store is told of
// the session before the pass would expire.
func (p place) fresh(g pass.Grant, now time.Time) bool {
	left := min(time.UnixMilli(g.ExpiresAtMillis).Sub(now), p.left(g, now))
	return !p.over(g.Admission) && (p.MaxInside == 0 || left > zones.ToldWithin)
}

// left is how long a session lasts that a pass begins now. Where admissions count, it ends as long after the admission.
func (p place) left(g pass.Grant, now time.Time) time.Duration {
	if p.MaxInside > 0 && p.InsideBy == zone.InsideByAdmission {
		return min(p.Session(), time.UnixMilli(g.AdmittedAtMillis).Add(p.Session()).Sub(now)).Truncate(time.Second)
	}
	return p.Session()
}

// beginAt returns a new session, of which the store was told; or says that the admission is over.
func (s *Service) beginAt(ctx context.Context, at place, g pass.Grant, now time.Time) (is token.Session, over bool, err error) {
	is = token.Session{Admission: g.Admission, Begun: now, Issued: now, Length: at.left(g, now)}
	if at.zone == nil {
		return is, false, nil
	}
	if over, err = s.moved(ctx, &at.Settings, is, now); !over && err == nil {
		over, err = at.zone.Begin(ctx, g.Admission, now.Add(is.Length))
	}
	if err != nil {
		err = fmt.Errorf("site: begin: %w", err)
	}
	return is, over, err
}

// reported is until when a visitor is inside whom a service reports now: for a session, and where admissions count, for as long after the
// admission.
func reported(z *zones.Zone, admission [16]byte, now time.Time) time.Time {
	s := z.Settings()
	until := now.Add(s.Session())
	if a, ok := line.AdmissionOf(z.ID(), admission); ok && s.InsideBy == zone.InsideByAdmission {
		if at := time.UnixMilli(a.AtMillis - z.AheadMillis()).Add(s.Session()); at.Before(until) {
			return at
		}
	}
	return until
}

// admissionOf returns the admission that exactly one of the texts stands for.
func (s *Service) admissionOf(zoneID, session, pass, jti string) (admission [16]byte, err error) {
	given := 0
	for _, text := range []string{session, pass, jti} {
		if text != "" {
			given++
		}
	}
	now := s.Now()
	switch {
	case given != 1:
		return admission, &serve.FieldError{Field: "session, pass and jti", Reason: "one of them must be there"}
	case session != "":
		is, err := s.Keys.VerifySession(zoneID, session)
		if err != nil || !is.Good(now) {
			return admission, &serve.FieldError{Field: "session", Reason: "is no session of this zone, or is over"}
		}
		return is.Admission, nil
	case pass != "":
		g, err := s.Passes.Verify(pass, now)
		if err != nil || g.ZoneID != zoneID {
			return admission, &serve.FieldError{Field: "pass", Reason: "is no pass of this zone, or has expired"}
		}
		return g.Admission, nil
	}
	return readJTI(zoneID, jti)
}

// readJTI returns the admission to the zone that the jti of a pass stands for.
func readJTI(zoneID, jti string) (admission [16]byte, err error) {
	admission, err = uuid.Parse(jti)
	if _, ok := line.AdmissionOf(zoneID, admission); err != nil || !ok {
		return admission, &serve.FieldError{Field: "jti", Reason: "must be the jti of a pass of this zone"}
	}
	return admission, nil
}
