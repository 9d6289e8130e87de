package wait_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// challenging has the room ask for work, with a line. It forgets which work it saw done.
func (r *room) challenging(t *testing.T) {
	t.Helper()
	r.challenges = challenge.New(challenge.Options{Keys: r.tokens, Spends: r.store, Provider: &challenge.Provider{}, Meter: r.meter, Now: r.clock.Now})
	r.serve(t)
	r.set(t, func(s *zone.Settings) { s.Challenge = zone.ChallengeWork })
	r.lined(t, true)
}

func (r *room) joinWith(clientID, shown string) *httptest.ResponseRecorder {
	return r.send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q,"challenge":%q}`, zoneID, clientID, shown))
}

// asked is the work that a join is asked for, made easy.
func (r *room) asked(t *testing.T, w *httptest.ResponseRecorder, reason string) challenge.Work {
	t.Helper()
	d := read(t, w)
	if w.Code != http.StatusForbidden || d.Code != "challenge_required" || d.Challenge == nil || d.Challenge.Reason != reason || d.Challenge.Work == nil {
		t.Fatalf("got %d %s, want the reason %q", w.Code, w.Body, reason)
	}
	return r.easy(t, *d.Challenge.Work)
}

// easy makes a challenge one of a few derivations, and signs that.
func (r *room) easy(t *testing.T, w challenge.Work) challenge.Work {
	t.Helper()
	w.Parameters.KeyPrefix = "0"
	text, err := json.Marshal(w.Parameters)
	must(t, err)
	w.Signature = r.tokens.SignChallenge(w.Parameters.Data.Zone, string(text))
	return w
}

// enter fills the window, so that whoever joins next waits.
func (r *room) enter(t *testing.T) error {
	t.Helper()
	_, err := r.store.Join(t.Context(), zoneID, line.ID{255})
	return err
}

func solve(t *testing.T, w challenge.Work) string {
	t.Helper()
	shown, err := challenge.Solve(t.Context(), w)
	must(t, err)
	return shown
}

// TestJoinByWork: a join without a solution is refused before anybody else is asked; one solution finds one place, as often as its
// join is repeated, and no other when that is gone.
func TestJoinByWork(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.challenging(t)
	must(t, r.enter(t))
	for _, client := range []string{"", "phone"} {
		r.limited = nil
		r.store.asked()
		shown := solve(t, r.asked(t, r.joinWith(client, ""), "required"))
		if calls := r.store.asked(); len(calls) > 0 || len(r.limited) > 0 {
			t.Errorf("%q: asked for work, and the store for %q, the limiter about %q", client, calls, r.limited)
		}
		first := read(t, r.joinWith(client, shown))
		again := read(t, r.joinWith(client, shown))
		if first.Token == "" || r.place(t, again.Token) != r.place(t, first.Token) {
			t.Fatalf("%q: %+v, then %+v", client, first, again)
		}
		if client == "" && !strings.HasPrefix(strings.Join(r.limited, "\n"), guard.JoinsClient) {
			t.Error("joins without a clientId are not counted by their challenge")
		}
		r.asked(t, r.joinWith("somebody else", shown), "wrong_visitor")
		r.lined(t, false) // the line has gone, and the answer was lost
		if last := read(t, r.joinWith(client, shown)); r.place(t, last.Token) != r.place(t, first.Token) {
			t.Errorf("%q: without a line: %+v", client, last)
		}
		r.lined(t, true)
		r.leave(first.Token)
		r.asked(t, r.joinWith(client, shown), "used")
	}
	if stats := r.stats(t); stats.Totals.Joined != 3 {
		t.Errorf("%d places were taken, want 3", stats.Totals.Joined)
	}
}

// TestAChallengeIsOfItsNetwork: the solution of a challenge takes no place for another network, and finds the one that it took there.
func TestAChallengeIsOfItsNetwork(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.challenging(t)
	join := func(from, shown string) *httptest.ResponseRecorder {
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/traffic/wait",
			strings.NewReader(fmt.Sprintf(`{"zoneId":%q,"challenge":%q}`, zoneID, shown)))
		q.RemoteAddr = from
		r.http.ServeHTTP(w, q)
		return w
	}
	for own, other := range map[string]string{
		"203.0.113.1:1": "203.0.114.1:1", "[2001:db8::1]:1": "[2001:db8:0:100::1]:1", "10.0.0.1:1": "203.0.113.1:1", "203.0.113.2:1": "10.0.0.1:1",
	} {
		near := map[string]string{"203.0.113.1:1": "203.0.113.99:1", "[2001:db8::1]:1": "[2001:db8:0:ff::1]:1"}[own]
		if near == "" {
			near = own
		}
		shown := solve(t, r.asked(t, join(own, ""), "required"))
		r.asked(t, join(other, shown), "wrong_visitor")
		first := read(t, join(near, shown))
		if again := read(t, join(other, shown)); first.Token == "" || again.Token == "" || r.place(t, again.Token).ID != r.place(t, first.Token).ID {
			t.Errorf("%s: %+v, from %s %+v", near, first, other, again)
		}
	}
}

// TestSolutionsAreUsedOnce: also on another server, and after a restart.
func TestSolutionsAreUsedOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.challenging(t)
	r.set(t, func(s *zone.Settings) { s.PassTTLSeconds = 10; s.PerMinute = 600 })
	shown := solve(t, r.asked(t, r.joinWith("c", ""), "required"))
	in := read(t, r.joinWith("c", shown))
	if again := read(t, r.joinWith("c", shown)); !in.CanEnter || again.Admission == nil || again.Admission.Pass != in.Admission.Pass {
		t.Fatalf("%+v, then %+v", in, again)
	}
	r.clock.forward(20 * time.Second)
	r.asked(t, r.joinWith("c", shown), "used")
	r.store.asked()
	r.asked(t, r.joinWith("c", shown), "used")
	if calls := r.store.asked(); len(calls) > 0 {
		t.Errorf("the store was asked for %q about a solution that is known to be used", calls)
	}
	r.challenging(t) // knows nothing of it
	r.asked(t, r.joinWith("c", shown), "used")

	// A place that could not be taken leaves the solution as it was.
	shown = solve(t, r.asked(t, r.joinWith("d", ""), "required"))
	r.store.status = line.Full
	if w := r.joinWith("d", shown); w.Code != http.StatusTooManyRequests {
		t.Errorf("a full line: %d %s", w.Code, w.Body)
	}
	r.store.status = line.Waiting
	r.store.fail(line.ErrStoreUnavailable)
	if w := r.joinWith("d", shown); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without the store: %d %s", w.Code, w.Body)
	}
	r.store.fail(nil)
	if w := r.joinWith("d", shown); w.Code != http.StatusOK {
		t.Errorf("then: %d %s", w.Code, w.Body)
	}
}

// TestWhoIsAsked: who has to show work, and who need not.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(r *room, s *zone.Settings)
		line   bool
		asks   bool
	}{
		"with a line":                {func(*room, *zone.Settings) {}, true, true},
		"without":                    {func(*room, *zone.Settings) {}, false, false},
		"always":                     {func(_ *room, s *zone.Settings) { s.ChallengeWhen = zone.ChallengeAlways }, false, true},
		"no challenge":               {func(_ *room, s *zone.Settings) { s.Challenge = zone.ChallengeNone }, true, false},
		"open":                       {func(_ *room, s *zone.Settings) { s.Mode = zone.ModeOpen }, true, false},
		"closed":                     {func(_ *room, s *zone.Settings) { s.Mode = zone.ModeClosed }, true, false},
		"sold out":                   {func(_ *room, s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }, true, false},
		"by invitation":              {func(_ *room, s *zone.Settings) { s.Invitation = "spring" }, true, false},
		"a member, by the backend":   {func(r *room, _ *zone.Settings) { r.named = true }, true, false},
		"of a provider without keys": {func(_ *room, s *zone.Settings) { s.Challenge = zone.ChallengeTurnstile }, true, true},
	} {
		r := newRoom(t)
		r.challenging(t)
		r.lined(t, tt.line)
		r.set(t, func(s *zone.Settings) { tt.change(r, s) })
		r.meter.told()
		if d := read(t, r.joinWith("c", "")); (d.Code == "challenge_required") != tt.asks {
			t.Errorf("%s: %+v", name, d)
		}
		if tt.asks && !slices.Equal(r.meter.told(), []string{"challenge TEST_ZONE required", "join TEST_ZONE challenged", "refuse TEST_ZONE challenge_required"}) {
			t.Errorf("%s: metered otherwise", name)
		}
	}
}

// TestWithoutScript: who cannot do the work takes a place after a minute, once, where the settings allow it.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.challenging(t)
	shown, err := challenge.Unsolved(r.asked(t, r.joinWith("c", ""), "required"))
	must(t, err)
	r.clock.forward(90 * time.Second)
	r.asked(t, r.joinWith("c", shown), "required")
	r.set(t, func(s *zone.Settings) { s.ChallengeWithoutScript = zone.WithoutScriptWait })
	if w := r.joinWith("c", shown); w.Code != http.StatusOK {
		t.Errorf("after 90 s: %d %s", w.Code, w.Body)
	}
	work := r.asked(t, r.joinWith("d", ""), "required")
	shown, err = challenge.Unsolved(work)
	must(t, err)
	r.clock.forward(20 * time.Second)
	w := r.joinWith("d", shown)
	if same := r.asked(t, w, "required"); same != work || w.Header().Get("Retry-After") != "40" {
		t.Errorf("after 20 s: %v %s", w.Header(), w.Body)
	}
}

// TestWorkWhileTheStoreIsAway: a zone that lets people in then does so by the work alone.
func TestWorkWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.challenging(t)
	r.set(t, func(s *zone.Settings) { s.OnStoreFailure = zone.FailureAdmit })
	j := challenge.Join{Zone: r.zones.Known(zoneID).Settings(), ClientID: "c", Network: "192.0.2.0/24", CountAttempt: func(int64) bool { return false }}
	var required *challenge.RequiredError
	if _, err := r.challenges.Check(t.Context(), j); !errors.As(err, &required) {
		t.Fatal(err)
	}
	shown := solve(t, r.easy(t, *required.Work))
	r.store.asked()
	r.store.fail(line.ErrStoreUnavailable)
	if w := r.joinWith("c", shown); w.Code != http.StatusServiceUnavailable || !slices.Equal(r.store.asked(), []string{"spend", "join"}) {
		t.Errorf("%d %s: a registry that lets in was not asked", w.Code, w.Body)
	}
}
