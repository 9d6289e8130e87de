package site

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zones"
)

// toldWithin is how much longer a pass must be good to begin a session in a zone with a cap: until the store was told of it.
const toldWithin = 2 * time.Second

// stays has a session count as inside. It returns h without the session if that is done or revoked.
func stays(z *zones.Zone, q *request, h held) held {
	over, donePaths := z.Here(h.session.Admission, h.session.Issued.Add(h.session.Length))
	if over {
		h.inside, h.session = false, token.Session{}
	} else if len(donePaths) > 0 && anyPath(donePaths, q.uri) {
		z.End(h.session.Admission)
	}
	return h
}

// anyPath reports whether one of the patterns matches the path of a URI.
func anyPath(patterns []string, uri string) bool {
	path, ok := plainPath(uri)
	return ok && slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, path) })
}

// fresh reports whether an admission whose pass is good until then may begin a session.
func (p place) fresh(admission [16]byte, expires, now time.Time) bool {
	return p.MaxInside == 0 || !p.over(admission) && now.Add(toldWithin).Before(expires)
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
