package zone

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	// RevokedUpToMillis: in the second before it nobody is admitted.
	RevokedUpToMillis int64 `json:"revokedUpTo,omitempty" doc:"All admissions up to this time are revoked, in Unix milliseconds." example:"1795262400000"`
	// Revoked has at most MaxRevoked.
	Revoked       []string `json:"revoked,omitempty" maxItems:"200" format:"uuid" doc:"Other admissions that are revoked, by jti, the newest last." example:"[]"`
	ResetAtMillis int64    `json:"resetAt,omitempty" doc:"When an operator last declared that only the admissions that the store knows are inside, in Unix milliseconds." example:"1795262400000"`
}

// Revoke adds an admission, unless it is revoked already. Of more than MaxRevoked the oldest are forgotten.
func (i InsideState) Revoke(jti string) InsideState {
	if slices.Contains(i.Revoked, jti) {
		return i
	}
	all := append(append([]string{}, i.Revoked...), jti)
	i.Revoked = all[max(0, len(all)-MaxRevoked):]
	return i
}

// Tightens reports whether more is revoked than before, and nothing else is otherwise.
func (i InsideState) Tightens(was InsideState) bool {
	return i.ResetAtMillis == was.ResetAtMillis && i.RevokedUpToMillis >= was.RevokedUpToMillis &&
		(i.RevokedUpToMillis > was.RevokedUpToMillis || slices.ContainsFunc(i.Revoked, func(j string) bool { return !slices.Contains(was.Revoked, j) }))
}

// And adds what another state revokes.
func (i InsideState) And(other InsideState) InsideState {
	i.RevokedUpToMillis = max(i.RevokedUpToMillis, other.RevokedUpToMillis)
	for _, j := range other.Revoked {
		i = i.Revoke(j)
	}
	return i
}

func (s Settings) sayInsideState() string {
	at := func(millis int64) string { return time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05 UTC") }
	var all []string
	if upTo := s.InsideState.RevokedUpToMillis; upTo > 0 {
		all = append(all, "all admissions up to "+at(upTo))
	}
	if n := len(s.InsideState.Revoked); n > 0 {
		all = append(all, fmt.Sprintf("%d by jti, the last %s", n, s.InsideState.Revoked[n-1]))
	}
	if reset := s.InsideState.ResetAtMillis; reset > 0 {
		all = append(all, "count reset at "+at(reset))
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}

func (s Settings) capFault() string {
	if s.MaxInside > 0 && s.OnStoreFailure == FailureAdmit {
		return "does not go with onStoreFailure admit: what a server admits by itself, no other counts"
	}
	return ""
}
