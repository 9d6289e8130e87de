package page_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// challenging has the zone ask for a proof.
func (r *server) challenging(kind zone.Challenge, withoutScript string) {
	r.t.Helper()
	r.Challenge(&challenge.Provider{SiteKey: "the site's key"})
	r.serve()
	r.set(func(s *zone.Settings) { s.Challenge, s.ChallengeWithoutScript = kind, withoutScript })
}

// TestWork: a browser with scripts is asked for work, and takes a place with the solution.
func TestWork(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	r.challenging(zone.ChallengeWork, zone.WithoutScriptRefuse)
	b := r.browser()
	w := b.get("")
	shows(t, w, http.StatusForbidden, "One moment", "Your browser does a short calculation", `<p id="scriptless">Your`)
	if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "frame-src 'none'") || strings.Contains(p, "https:") {
		t.Errorf("the policy is %q", p)
	}
	if r.waits() != 0 {
		t.Error("a place was taken without a solution")
	}
	status, asked := r.poll("", `{"clientId":"0123456789abcdef"}`)
	if status != http.StatusForbidden || asked.Code != "challenge_required" || asked.Challenge.Work == nil || !strings.Contains(asked.HTML, `data-state="proving"`) {
		t.Fatalf("%d %+v", status, asked)
	}
	easy := *asked.Challenge.Work
	easy.Parameters.KeyPrefix = "0"
	text, err := json.Marshal(easy.Parameters)
	room.Must(t, err)
	easy.Signature = r.Tokens.SignChallenge(zoneID, string(text))
	solution, err := challenge.Solve(t.Context(), easy)
	room.Must(t, err)
	if status, asked = r.poll("", `{"clientId":"0123456789abcdef","challenge":"`+solution+`"}`); status != http.StatusOK || r.waits() != 1 {
		t.Errorf("with a solution: %d %+v, %d wait", status, asked, r.waits())
	}
}

// TestWithoutScripts: a browser without scripts joins after a minute, where the zone's settings say so.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	r.challenging(zone.ChallengeWork, zone.WithoutScriptWait)
	b := r.browser()
	w := b.get("")
	shows(t, w, http.StatusForbidden, "One moment")
	if strings.Contains(w.Body.String(), "scriptless") {
		t.Error("it is told to turn JavaScript on")
	}
	r.Forward(30 * time.Second)
	if w = b.get(""); w.Code != http.StatusForbidden || w.Header().Get("Retry-After") != "30" {
		t.Errorf("too early: %d, Retry-After %s", w.Code, w.Header().Get("Retry-After"))
	}
	r.Forward(31 * time.Second)
	if w = b.get(""); w.Code != http.StatusOK || r.waits() != 1 {
		t.Errorf("after a minute: %d, %d wait", w.Code, r.waits())
	}
}

// TestWidgets: the page may load the script of the zone's provider, and of no other.
func TestWidgets(t *testing.T) {
	t.Parallel()
	for kind, host := range map[zone.Challenge]string{
		zone.ChallengeTurnstile: "https://challenges.cloudflare.com", zone.ChallengeHCaptcha: "https://*.hcaptcha.com",
		zone.ChallengeReCaptcha: "https://www.google.com/recaptcha/",
	} {
		r := newServer(t, 0)
		r.challenging(kind, zone.WithoutScriptWait)
		b := r.browser()
		w := b.get("")
		shows(t, w, http.StatusForbidden, "confirm below that you are a person", `<p id="scriptless">Your`)
		policy := w.Header().Get("Content-Security-Policy")
		_, frames, _ := strings.Cut(policy, "frame-src ")
		if !strings.Contains(policy, host) || !strings.HasPrefix(frames, "https://") {
			t.Errorf("%s: %s", kind, policy)
		}
		for _, other := range []string{"cloudflare", "hcaptcha", "google"} {
			if strings.Contains(policy, other) != strings.Contains(host, other) {
				t.Errorf("%s: the policy %q has %s", kind, policy, other)
			}
		}
	}
}
