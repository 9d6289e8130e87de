package answer

import (
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Issuer turns a visitor's token into a place, and a store's answer into what the visitor is told.
type Issuer struct {
	tokens *token.Keys
	passes *pass.Signer
}

// NewIssuer returns an Issuer that signs with these keys.
func NewIssuer(tokens *token.Keys, passes *pass.Signer) Issuer {
	return Issuer{tokens: tokens, passes: passes}
}

// SoldOut returns a *SoldOutError if the zone of these settings is sold out and the answer does not let the visitor in; else nil.
func SoldOut(s *zone.Settings, a *line.Told) error {
	if len(s.SoldOut) == 0 || a.Status == line.Admitted || a.Status == line.AdmittedBefore {
		return nil
	}
	return &SoldOutError{Reason: s.SoldOut}
}

// Held is what a visitor holds: a token that was verified, and the place that it carries.
type Held struct {
	Token string
	Place line.Place
}

// Verify returns what a token of the zone carries, or a *serve.FieldError or token.ErrInvalid. If the token is genuine, the
// zone's name is well-formed, since it was when the token was made. So the fields are checked only after a failure, to
// tell the client what is wrong with them.
func (i Issuer) Verify(zoneID, tok string) (Held, error) {
	p, err := i.tokens.Verify(zoneID, tok)
	if err == nil {
		return Held{tok, p}, nil
	}
	if err := CheckZoneID(zoneID); err != nil {
		return Held{}, err
	}
	if tok == "" {
		return Held{}, invalid("token", "is missing")
	}
	if err := CheckLength("token", tok, MaxToken); err != nil {
		return Held{}, err
	}
	return Held{}, InZone(zoneID, err)
}

// Answer adds the token of the place; for an admitted visitor the pass; and for a waiting visitor what the settings of the zone
// say: the number of a message, an event that is to open, or that the zone is paused. The status of a
// must be Waiting, Admitted or AdmittedBefore. Token and pass are pure functions of a: a repeated call gives the same.
func (i Issuer) Answer(s *zone.Settings, a line.Told) (Answer, error) {
	return i.issue(s, Answer{ZoneID: s.ZoneID, Token: i.tokens.Sign(s.ZoneID, carried(s, a.Place)), Line: a})
}

// Renew is Answer for a visitor who has shown what it holds. It returns the same at less cost: the
// token is signed anew only if it would differ (token.Keys.Renew). So visitors move to the newest secret by
// polling, and the oldest secret can be retired without anybody losing a place.
func (i Issuer) Renew(s *zone.Settings, h Held, a line.Told) (Answer, error) {
	return i.issue(s, Answer{ZoneID: s.ZoneID, Token: i.tokens.Renew(s.ZoneID, h.Token, carried(s, a.Place)), Line: a})
}

// carried is what the token carries of a place. Only where places are set aside may a position rise, so only there does the token
// have the position that was told: servers of 0.1.0 refuse a token that has one.
func carried(s *zone.Settings, p line.Place) line.Place {
	if s.KeepPlaceSeconds == 0 {
		p.Told = 0
	}
	return p
}

// issue adds what is not the token.
func (i Issuer) issue(s *zone.Settings, out Answer) (Answer, error) {
	switch a := &out.Line; a.Status {
	case line.Waiting:
		out.Notice, out.Paused = s.Notice(), s.PerMinute == 0
		out.Event, out.OpensAtMillis = s.Unopened(a.Position == 0)
		a.Reason = reason(a.Reason, out.Paused && a.Position > 0)
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
		return Answer{}, fmt.Errorf("answer: status %d is neither waiting nor admitted", a.Status)
	}
}

// reason returns why an estimate moved. The settings say that the zone is on hold a moment before the estimate does. So
// OnHold is told exactly when Paused is, except while people gather.
func reason(r line.Reason, held bool) line.Reason {
	switch {
	case held:
		return line.OnHold
	case r == line.OnHold:
		return line.NoReason
	default:
		return r
	}
}
