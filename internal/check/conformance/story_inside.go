package conformance

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// inside does a step of a script about those inside, if it is one.
func (s *story) inside(verb string, words []string, want string) bool {
	s.t.Helper()
	switch verb {
	case "here", "done", "named", "before":
		a := s.admissions[visitorID(words[0])]
		one := line.Stay{Admission: line.Admission{ID: visitorID(words[0]), AtMillis: a.AdmittedAtMillis}, Named: verb == "named", Before: verb == "before"}
		if verb == "here" {
			one.LeftMillis = s.duration(words[1]).Milliseconds()
		}
		reply := s.report(line.SessionReport{Stays: []line.Stay{one}})
		s.equal(verb+" "+words[0], strconv.Itoa(int(reply.Statuses[0])), want)
	case "moves":
		a := s.admissions[visitorID(words[0])]
		a.AdmittedAtMillis++
		reply := s.report(line.SessionReport{Stays: []line.Stay{{
			Admission: line.Admission{ID: visitorID(words[0]), AtMillis: a.AdmittedAtMillis}, Moved: true, LeftMillis: s.duration(words[1]).Milliseconds(),
		}}})
		if s.equal("moves "+words[0], strconv.Itoa(int(reply.Statuses[0])), want); want == "1" {
			s.admissions[visitorID(words[0])] = a
		}
	case "supposed": // by another server
		n, err := strconv.ParseInt(words[0], 10, 64)
		s.fails(verb, err, nil)
		lostAt := s.model.state().LostAtMillis
		if len(words) > 1 { // at an earlier loss
			lostAt--
		}
		s.report(line.SessionReport{LostAtMillis: lostAt, Lost: n})
	case "asked": // once a second
		for end := s.clock.Now().Add(s.duration(words[0])); s.clock.Now().Before(end); {
			s.after(min(second, end.Sub(s.clock.Now())))
			s.stats()
		}
	case "revoke":
		s.zone(func(z *zone.Settings) {
			if words[0] == "all" {
				z.InsideState.RevokedUpToMillis = s.model.now + second.Milliseconds()
				if len(words) > 1 { // by a server that could not tell the store before
					z.InsideState.RevokedUpToMillis = s.model.now - s.duration(words[1]).Milliseconds()
				}
				return
			}
			a := line.Admission{ID: visitorID(words[0]), AtMillis: s.admissions[visitorID(words[0])].AdmittedAtMillis}
			z.InsideState = z.InsideState.Revoke(uuid.UUID(a.JTI(s.zoneID)).String())
		})
	case "reset":
		s.zone(func(z *zone.Settings) { z.InsideState.ResetAtMillis = s.model.now })
	default:
		return false
	}
	return true
}
