package zone

import "fmt"

// InsideBy says until when an admission counts as inside.
type InsideBy string

// The two ways to count.
const (
	// InsideBySession goes by what servers tell of sessions.
	InsideBySession InsideBy = "session"
	// InsideByAdmission counts each admission for SessionSeconds.
	InsideByAdmission InsideBy = "admission"
)

// MaxRevoked is how many revoked admissions are kept.
const MaxRevoked = 200

// InsideState is what operators have done to those inside. Times are Unix milliseconds of the zone's clock.
type InsideState struct {
	// RevokedUpToMillis: all admissions up to then are revoked. In the second before it nobody is let in.
	RevokedUpToMillis int64 `json:"revokedUpTo,omitempty"`
	// Revoked are the jti of other admissions that are revoked, the newest last, at most MaxRevoked.
	Revoked []string `json:"revoked,omitempty"`
	// ResetAtMillis is when an operator last declared that only the admissions that the store knows are inside.
	ResetAtMillis int64 `json:"resetAt,omitempty"`
}

// Revoke adds an admission. Of more than MaxRevoked the oldest are forgotten.
func (i InsideState) Revoke(jti string) InsideState {
	all := append(append([]string{}, i.Revoked...), jti)
	i.Revoked = all[max(0, len(all)-MaxRevoked):]
	return i
}

func (s Settings) sayInsideState() string {
	switch {
	case s.InsideState.RevokedUpToMillis > 0:
		return "all were revoked"
	case len(s.InsideState.Revoked) > 0:
		return fmt.Sprintf("%d were revoked", len(s.InsideState.Revoked))
	}
	return "none"
}

func (s Settings) capFault() string {
	if s.MaxInside > 0 && s.OnStoreFailure == FailureAdmit {
		return "does not go with onStoreFailure admit: what a server lets in by itself, no other counts"
	}
	return ""
}
