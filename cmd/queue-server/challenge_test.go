package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/challenge"
)

// required is the challenge of a refused join.
func (r reply) required(t *testing.T, reason string) *challenge.RequiredError {
	t.Helper()
	var d struct {
		Challenge *challenge.RequiredError `json:"challenge"`
	}
	if err := json.Unmarshal([]byte(r.body), &d); err != nil || r.status != http.StatusForbidden || d.Challenge == nil || d.Challenge.Reason != reason {
		t.Fatalf("got %+v, want the reason %s", r, reason)
	}
	return d.Challenge
}

// TestProvidersOfChallenges: a server asks the provider of its settings with the secret in the file.
func TestProvidersOfChallenges(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		says := fmt.Sprintf(`{"success":%t,"hostname":"queue.shop.example"}`, r.FormValue("secret") == "the secret" && r.FormValue("response") == "good")
		if _, err := w.Write([]byte(says)); err != nil {
			t.Error(err)
		}
	}))
	defer provider.Close()
	s := start(t, map[string]string{
		"QUEUE_CONFIG":             config(t, "zones: [{zoneId: SALE, challenge: turnstile, challengeWhen: always}]"),
		"QUEUE_CHALLENGE_SITE_KEY": "0x4", "QUEUE_CHALLENGE_SECRET_FILE": config(t, "the secret\n"),
		"QUEUE_CHALLENGE_HOSTS": "queue.shop.example", "QUEUE_CHALLENGE_VERIFY_URL": provider.URL,
	})
	join := func(shown string) reply {
		return request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"SALE","challenge":%q}`, shown))
	}
	if e := join("").required(t, challenge.ReasonRequired); e.SiteKey != "0x4" || e.Action != "join" || e.Work != nil {
		t.Errorf("%+v", e)
	}
	if e := join("bad").required(t, challenge.ReasonWrong); e.Kind == "" {
		t.Errorf("it does not say what to show: %+v", e)
	}
	if got := join("good"); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	for env, want := range map[string]string{
		"QUEUE_CHALLENGE_SITE_KEY": "belong together", "QUEUE_CHALLENGE_SECRET": "belong together", "QUEUE_CHALLENGE_VERIFY_URL": "must be an https:// URL",
	} {
		if got := runToEnd(t, map[string]string{env: "x", "QUEUE_DATA_DIR": t.TempDir()}); !strings.Contains(got.errOut, want) {
			t.Errorf("%s: %+v", env, got)
		}
	}
}
