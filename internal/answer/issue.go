package answer

import (
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
)

// Issuer turns what a visitor shows into a place, and what a store says to the visitor into
// what the visitor is told.
type Issuer struct {
	tokens  *token.Keys
	passes  *pass.Signer
	notices func(zoneID string) int64
	events  func(zoneID string, gathers bool) (name string, opensAtMillis int64)
}

// NewIssuer returns an Issuer that signs with these keys.
func NewIssuer(tokens *token.Keys, passes *pass.Signer) Issuer {
	return Issuer{tokens: tokens, passes: passes, notices: func(string) int64 { return 0 }, events: func(string, bool) (string, int64) { return "", 0 }}
}

// WithNotices returns one that tells those who wait the number of the zone's message.
func (i Issuer) WithNotices(notices func(zoneID string) int64) Issuer {
	i.notices = notices
	return i
}

// WithEvents returns one that tells those who wait what they gather for, if they do:
// gathers says that the store said so.
func (i Issuer) WithEvents(events func(zoneID string, gathers bool) (name string, opensAtMillis int64)) Issuer {
	i.events = events
	return i
}

// Place returns the place that a token carries; a *serve.FieldError, or token.ErrInvalid. A
// genuine token says that the zone's name is well-formed, too: it was when the token was
// made. So the fields are looked at only to tell a client what is wrong with them.
func (i Issuer) Place(zoneID, tok string) (line.Place, error) {
	p, err := i.tokens.Verify(zoneID, tok)
	if err == nil {
		return p, nil
	}
	if err := CheckZoneID(zoneID); err != nil {
		return line.Place{}, err
	}
	if tok == "" {
		return line.Place{}, invalid("token", "is missing")
	}
	if err := CheckLength("token", tok, MaxToken); err != nil {
		return line.Place{}, err
	}
	return line.Place{}, InZone(zoneID, err)
}

// Answer adds the token of the place and, for one who is let in, the pass. The
// status of a must be Waiting, Admitted or AdmittedBefore. Both are pure
// functions of a: a repeated call gives the same token and the same pass.
func (i Issuer) Answer(zoneID string, a line.Answer) (Answer, error) {
	return i.issue(Answer{ZoneID: zoneID, Token: i.tokens.Sign(zoneID, a.Place), Line: a})
}

// Renew is Answer to a visitor who has shown tok, a token that was verified. It
// returns the same, at less cost: the token is signed anew only where that was
// under an older secret. So visitors move to the newest secret by polling, and
// the oldest can be retired with nobody losing a place.
func (i Issuer) Renew(zoneID, tok string, a line.Answer) (Answer, error) {
	return i.issue(Answer{ZoneID: zoneID, Token: i.tokens.Renew(zoneID, tok, a.Place), Line: a})
}

// issue adds the pass.
func (i Issuer) issue(out Answer) (Answer, error) {
	switch a := &out.Line; a.Status {
	case line.Waiting:
		out.Notice = i.notices(out.ZoneID)
		out.Event, out.OpensAtMillis = i.events(out.ZoneID, a.Position == 0)
		return out, nil
	case line.Admitted, line.AdmittedBefore:
		signed, err := i.passes.Issue(pass.Grant{
			ZoneID: out.ZoneID, ID: a.Place.ID,
			AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: a.ExpiresAtMillis,
			AheadMillis: a.AheadMillis, Local: a.Local,
		})
		if err != nil {
			return Answer{}, fmt.Errorf("answer: issue a pass: %w", err)
		}
		out.Pass = signed
		a.AdmittedAtMillis, a.ExpiresAtMillis = a.AdmittedAtMillis-a.AheadMillis, a.ExpiresAtMillis-a.AheadMillis
		return out, nil
	default:
		return Answer{}, fmt.Errorf("answer: status %d is none of waiting and admitted", a.Status)
	}
}
