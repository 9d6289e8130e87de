package page

import (
	"errors"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/zone"
)

// prove has the script meet a challenge at once. A browser without scripts comes again as the challenge says.
func (v *view) prove(proof *challenge.RequiredError) {
	const again = 30
	v.State, v.status, v.RefreshSeconds, v.Data.PollAfter = proving, http.StatusForbidden, again, 1
	if after := proof.RetryAfterSeconds(); after > 0 {
		v.RefreshSeconds = int64(after)
	}
	if v.Proof = proof.Work == nil; v.Proof {
		v.Text = v.text("proofText")
	}
	if v.Proof || v.settings.ChallengeWithoutScript != zone.WithoutScriptWait {
		v.Scriptless = v.text("unprovenText")
	}
}

// providers returns where the widget of a zone's challenge has its scripts, and what they may frame and ask; "" for none. See the
// providers' pages on content security policies.
func providers(c zone.Challenge) (scripts, frames string) {
	switch c {
	case zone.ChallengeNone, zone.ChallengeWork:
	case zone.ChallengeTurnstile:
		return " https://challenges.cloudflare.com", " https://challenges.cloudflare.com"
	case zone.ChallengeHCaptcha:
		return " https://hcaptcha.com https://*.hcaptcha.com", " https://hcaptcha.com https://*.hcaptcha.com"
	case zone.ChallengeReCaptcha:
		return " https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/", " https://www.google.com/recaptcha/ https://recaptcha.google.com/recaptcha/"
	}
	return "", ""
}

// unsolvedPrefix begins the name of the cookie in which a browser without scripts keeps a challenge until it may join without
// a solution; the zone follows.
const unsolvedPrefix = "waitingroom_challenge-"

// readUnsolved returns that challenge, "" for none.
func readUnsolved(r *http.Request, zoneID string) string {
	cookie, err := r.Cookie(unsolvedPrefix + zoneID)
	if err != nil || len(cookie.Value) > challenge.MaxSolution {
		return ""
	}
	return cookie.Value
}

// unsolved is the cookie with the challenge of an error that asks for work; nil for any other.
func unsolved(zoneID string, err error) *http.Cookie {
	proof, asked := errors.AsType[*challenge.RequiredError](err)
	if !asked || proof.Work == nil {
		return nil
	}
	shown, err := challenge.Unsolved(*proof.Work)
	if err != nil {
		return nil
	}
	return &http.Cookie{Name: unsolvedPrefix + zoneID, Value: shown, MaxAge: int(challenge.Life / time.Second), HttpOnly: true}
}
