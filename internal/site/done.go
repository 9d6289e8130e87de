package site

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Crowd counts those inside, in zones with a cap. *registry.Registry does.
type Crowd interface {
	// Here takes in that a session asks that lasts until then. over says that it is to be refused, donePaths which paths of
	// the zone end a visit.
	Here(zoneID string, admission [16]byte, until time.Time) (over bool, donePaths []string)
	// Begin tells the store of a session that begins or is renewed. over says that the admission is over. After an error no
	// session may begin.
	Begin(ctx context.Context, zoneID string, admission [16]byte, until time.Time) (over bool, err error)
	// Over reports whether an admission is done or revoked.
	Over(zoneID string, admission [16]byte) bool
	// MayRenew reports whether a session that ends then may be renewed.
	MayRenew(zoneID string, admission [16]byte, ends time.Time) bool
	// Done ends an admission. known is false if it was only named and is not inside.
	Done(ctx context.Context, zoneID string, admission [16]byte, named bool) (known bool, err error)
	// End is Done in the background, for an admission that a session or a pass has proved.
	End(zoneID string, admission [16]byte)
}

// stays has a session count as inside. It returns h without the session if that is done or revoked.
func (s *Service) stays(zoneID string, q *request, h held) held {
	over, donePaths := s.Crowd.Here(zoneID, h.session.Admission, h.session.Issued.Add(h.session.Length))
	if over {
		h.inside, h.session = false, token.Session{}
	} else if len(donePaths) > 0 && fits(donePaths, q.uri) {
		s.Crowd.End(zoneID, h.session.Admission)
	}
	return h
}

// fresh reports whether a good pass may begin a session: it is not over, and where those inside are counted, the store is told of
// the session before the pass would expire.
func (s *Service) fresh(settings zone.Settings, g pass.Grant, now time.Time) bool {
	left := min(time.UnixMilli(g.ExpiresAtMillis).Sub(now), sessionLeft(settings, g, now))
	return !s.Crowd.Over(settings.ZoneID, g.Admission) && (settings.MaxInside == 0 || left > zones.ToldWithin)
}

// sessionLeft is how long a session lasts that a pass begins now. Where admissions count, it ends as long after the admission.
func sessionLeft(settings zone.Settings, g pass.Grant, now time.Time) time.Duration {
	if settings.MaxInside > 0 && settings.InsideBy == zone.InsideByAdmission {
		return min(settings.Session(), time.UnixMilli(g.AdmittedAtMillis).Add(settings.Session()).Sub(now)).Truncate(time.Second)
	}
	return settings.Session()
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
