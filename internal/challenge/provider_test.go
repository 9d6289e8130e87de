package challenge

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestProvider: what each answer of a provider comes to, and what the provider is asked.
func TestProvider(t *testing.T) {
	t.Parallel()
	var status int
	var says, asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("secret") + " " + r.FormValue("response") + " " + r.FormValue("sitekey") + " " + r.FormValue("remoteip")
		w.WriteHeader(status)
		if _, err := fmt.Fprint(w, says); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	logs := &bytes.Buffer{}
	provider := &Provider{SiteKey: "site", Secret: "secret", Hosts: []string{"queue.shop.example"}, VerifyURL: server.URL, Logger: slog.New(slog.NewTextHandler(logs, nil)), Client: *server.Client()}
	r := newRoom(t, provider)
	const yes, no, away = "", ReasonWrong, ReasonProviderAway
	n := 0
	for _, tt := range []struct {
		kind   zone.Challenge
		status int
		says   string
		reason string
	}{
		{zone.ChallengeTurnstile, 200, `{"success":true,"error-codes":[],"challenge_ts":"2026-11-25T12:00:00Z","hostname":"queue.shop.example","action":"join","cdata":""}`, yes},
		{zone.ChallengeTurnstile, 200, `{"success":true,"hostname":"queue.shop.example","action":"login"}`, no},
		{zone.ChallengeTurnstile, 200, `{"success":true,"hostname":"evil.example","action":"join"}`, no},
		{zone.ChallengeTurnstile, 200, `{"success":false,"error-codes":["invalid-input-response"]}`, no},
		{zone.ChallengeTurnstile, 200, `{"success":false,"error-codes":["timeout-or-duplicate"]}`, ReasonUsed},
		{zone.ChallengeTurnstile, 400, `{"success":false,"error-codes":["invalid-input-secret"]}`, away},
		{zone.ChallengeTurnstile, 200, `{"success":false,"error-codes":["internal-error"]}`, away},
		{zone.ChallengeHCaptcha, 200, `{"success":true,"hostname":"queue.shop.example","credit":false}`, yes},
		{zone.ChallengeHCaptcha, 200, `{"success":true,"score":0.9}`, yes}, // of which 1 is a bot
		{zone.ChallengeHCaptcha, 200, `{"success":false,"error-codes":["invalid-or-already-seen-response"]}`, ReasonUsed},
		{zone.ChallengeHCaptcha, 200, `{"success":false,"error-codes":["sitekey-secret-mismatch"]}`, away},
		{zone.ChallengeReCaptcha, 200, `{"success":true,"hostname":"queue.shop.example"}`, yes},
		{zone.ChallengeReCaptcha, 200, `{"success":true,"score":0.7,"action":"join"}`, yes},
		{zone.ChallengeReCaptcha, 200, `{"success":true,"score":0.3,"action":"join"}`, no},
		{zone.ChallengeTurnstile, 500, ``, away},
		{zone.ChallengeTurnstile, 502, `<html>Bad gateway</html>`, away},
		{zone.ChallengeTurnstile, 200, `{}`, away},
		{zone.ChallengeTurnstile, 200, `{"success":"true"}`, away},
		{zone.ChallengeTurnstile, 200, `{"success":true`, away},
		{zone.ChallengeTurnstile, 200, strings.Repeat(" ", maxSaid) + `{"success":true}`, away},
		{zone.ChallengeTurnstile, 302, ``, away},
	} {
		r.zone.Challenge, status, says, asked = tt.kind, tt.status, tt.says, ""
		n++
		shown := fmt.Sprintf("token-%d", n)
		if tt.reason == yes {
			if p, err := r.Check(t.Context(), r.join("c", shown)); err != nil || p.ID != r.Keys.VisitorID("Z", "c") {
				t.Errorf("%+v: %+v, %v", tt, p, err)
			}
		} else if e := r.required(t, r.join("c", shown), tt.reason); e.SiteKey != "site" || e.Action != "join" || e.Work != nil ||
			(e.RetryAfterSeconds() > 0) != (tt.reason == away) {
			t.Errorf("%+v: %+v", tt, e)
		}
		if want := "secret " + shown + map[bool]string{true: " site "}[tt.kind == zone.ChallengeHCaptcha]; !strings.HasPrefix(asked, want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
	}
	if lines := strings.Count(logs.String(), "\n"); lines == 0 || lines > 4 || strings.Contains(logs.String(), "token-") {
		t.Errorf("logged %s", logs)
	}

	// Nobody can be asked: the zone's settings decide.
	server.Close()
	r.refused(t, r.join("c", "a"), away)
	r.zone.OnChallengeFailure = zone.FailureAdmit
	r.meter.told()
	if _, err := r.Check(t.Context(), r.join("c", "a")); err != nil {
		t.Error(err)
	}
	if _, err := r.Check(t.Context(), r.join("c", "a")); err != nil {
		t.Error(err)
	}
	if got := r.meter.told(); !maps.Equal(got, map[string]int{outWaived: 1, outRepeated: 1}) {
		t.Errorf("metered %v", got)
	}
	r.refused(t, r.join("c", ""), ReasonRequired)
}

// TestProviderIsAskedOnce: however often a join is repeated; and a token that another server has shown to the provider, for a
// place of this visitor, is good for that.
func TestProviderIsAskedOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		says := `{"success":false,"error-codes":["timeout-or-duplicate"]}`
		if calls.Add(1) == 1 {
			says = `{"success":true}`
		}
		if _, err := fmt.Fprint(w, says); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	provider := &Provider{SiteKey: "site", Secret: "secret", VerifyURL: server.URL, Logger: slog.New(slog.DiscardHandler), Client: *server.Client()}
	r, other := newRoom(t, provider), newRoom(t, provider)
	r.zone.Challenge, other.zone.Challenge, other.Spends = zone.ChallengeTurnstile, zone.ChallengeTurnstile, r.store
	for _, client := range []string{"", "c"} {
		calls.Store(0)
		j := r.join(client, "token of "+client)
		p, err := r.Check(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := r.Check(t.Context(), j); err != nil || again.ID != p.ID || calls.Load() != 1 {
			t.Errorf("again: %+v, %v, asked %d times", again, err, calls.Load())
		}
		r.Spend(t.Context(), j, p)
		if there, err := other.Check(t.Context(), j); err != nil || there.ID != p.ID || !there.spent {
			t.Errorf("on another server: %+v, %v", there, err)
		}
		other.refused(t, other.join("d", j.Shown), ReasonUsed)
	}
}

// TestProviderThatHangs: so many questions are under way, and no more; the others are told to come again, or that it is away.
func TestProviderThatHangs(t *testing.T) {
	t.Parallel()
	answers := make(chan struct{})
	var under sync.WaitGroup
	under.Add(maxAsked)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		under.Done()
		<-answers
	}))
	defer server.Close()
	provider := &Provider{SiteKey: "site", Secret: "secret", VerifyURL: server.URL, Logger: slog.New(slog.DiscardHandler), Client: *server.Client()}
	r := newRoom(t, provider)
	r.zone.Challenge = zone.ChallengeTurnstile
	var all sync.WaitGroup
	for n := range maxAsked {
		all.Go(func() {
			if st, err := provider.verify(t.Context(), zone.ChallengeTurnstile, fmt.Sprint(n), false); err == nil {
				t.Errorf("an answer: %d", st)
			}
		})
	}
	under.Wait()
	if _, err := r.Check(t.Context(), r.join("c", "one more")); err == nil || r.meter.told()[outBusy] != 1 {
		t.Errorf("one more: %v", err)
	}
	provider.failing.Store(true)
	r.refused(t, r.join("c", "one more"), ReasonProviderAway)
	close(answers)
	all.Wait()
}

// TestProviderThatIsSlow: an answer that takes longer than the time limit is none.
func TestProviderThatIsSlow(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	defer server.Close()
	defer close(end)
	client := *server.Client()
	client.Timeout = 20 * time.Millisecond
	r := newRoom(t, &Provider{SiteKey: "site", Secret: "secret", VerifyURL: server.URL, Logger: slog.New(slog.DiscardHandler), Client: client})
	r.zone.Challenge = zone.ChallengeTurnstile
	r.refused(t, r.join("c", "token"), ReasonProviderAway)
}
