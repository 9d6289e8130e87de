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
	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// challenging has the room ask for work, with a line. It forgets which work it saw done.
func (r *server) challenging(t *testing.T) {
	t.Helper()
	r.Challenge(&challenge.Provider{})
	r.Serve(t)
	r.Set(t, func(s *zone.Settings) { s.Challenge = zone.ChallengeWork })
	r.Lined(t, true)
}

func (r *server) joinWith(clientID, shown string) *httptest.ResponseRecorder {
	return r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q,"challenge":%q}`, zoneID, clientID, shown))
}

// asked is the work that a join is asked for, made easy.
func (r *server) asked(t *testing.T, w *httptest.ResponseRecorder, reason string) challenge.Work {
	t.Helper()
	d := room.Read(t, w)
	if w.Code != http.StatusForbidden || d.Code != "challenge_required" || d.Challenge == nil || d.Challenge.Reason != reason || d.Challenge.Work == nil {
		t.Fatalf("got %d %s, want the reason %q", w.Code, w.Body, reason)
	}
	return r.easy(t, *d.Challenge.Work)
}

// easy makes a challenge one of a few derivations, and signs that.
func (r *server) easy(t *testing.T, w challenge.Work) challenge.Work {
	t.Helper()
	w.Parameters.KeyPrefix = "0"
	text, err := json.Marshal(w.Parameters)
	room.Must(t, err)
	w.Signature = r.Tokens.SignChallenge(w.Parameters.Data.Zone, string(text))
	return w
}

// enter fills the window, so that whoever joins next waits.
func (r *server) enter(t *testing.T) error {
	t.Helper()
	_, err := r.Store.Join(t.Context(), zoneID, line.ID{255})
	return err
}

func solve(t *testing.T, w challenge.Work) string {
	t.Helper()
	shown, err := challenge.Solve(t.Context(), w)
	room.Must(t, err)
	return shown
}

// TestJoinByWork: a join with neither a solution nor a clientId is refused before anybody else is asked; one solution finds one place, as often as its
// join is repeated, and no other when that is gone.
func TestJoinByWork(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	room.Must(t, r.enter(t))
	for _, client := range []string{"", "phone"} {
		r.Limiter.Asked = nil
		r.Store.Asked()
		shown := solve(t, r.asked(t, r.joinWith(client, ""), "required"))
		if calls := r.Store.Asked(); client == "" && (len(calls) > 0 || len(r.Limiter.Asked) > 0) {
			t.Errorf("%q: asked for work, and the store for %q, the limiter about %q", client, calls, r.Limiter.Asked)
		}
		first := room.Read(t, r.joinWith(client, shown))
		again := room.Read(t, r.joinWith(client, shown))
		if first.Token == "" || r.Place(t, again.Token) != r.Place(t, first.Token) {
			t.Fatalf("%q: %+v, then %+v", client, first, again)
		}
		if client == "" && !strings.HasPrefix(strings.Join(r.Limiter.Asked, "\n"), guard.JoinsClient) {
			t.Error("joins without a clientId are not counted by their challenge")
		}
		r.asked(t, r.joinWith("somebody else", shown), "wrong_visitor")
		r.Lined(t, false) // the line has gone, and the answer was lost
		if last := room.Read(t, r.joinWith(client, shown)); r.Place(t, last.Token) != r.Place(t, first.Token) {
			t.Errorf("%q: without a line: %+v", client, last)
		}
		r.Lined(t, true)
		r.Leave(first.Token)
		r.asked(t, r.joinWith(client, shown), "used")
	}
	if stats := r.Stats(t); stats.Totals.Joined != 3 {
		t.Errorf("%d places were taken, want 3", stats.Totals.Joined)
	}
}

// TestNoSecondChallenge: whoever has a place by its clientId, in the line or set aside, joins again without a solution.
func TestNoSecondChallenge(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	r.Set(t, func(s *zone.Settings) { s.KeepPlaceSeconds = 900 })
	room.Must(t, r.enter(t))
	first := room.Read(t, r.joinWith("phone", solve(t, r.asked(t, r.joinWith("phone", ""), "required"))))
	for i, when := range []string{"in the line", "set aside"} {
		if d := room.Read(t, r.joinWith("phone", "")); d.Token == "" || r.Place(t, d.Token) != r.Place(t, first.Token) {
			t.Errorf("%s: %+v", when, d)
		}
		r.asked(t, r.joinWith("another", ""), "required")
		r.Forward(time.Duration(1-i) * 3 * time.Minute)
		swept, err := r.Store.Sweep(t.Context(), zoneID, "", 0)
		if room.Must(t, err); swept.Removed != int64(1-i) {
			t.Fatalf("%s: %+v", when, swept)
		}
	}
	r.Set(t, func(s *zone.Settings) { s.KeepPlaceSeconds = 0 })
	r.asked(t, r.joinWith("phone", ""), "required")
}

// TestAChallengeIsOfItsNetwork: the solution of a challenge takes no place for another network, and finds the one that it took there.
func TestAChallengeIsOfItsNetwork(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	join := func(from, shown string) *httptest.ResponseRecorder {
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/traffic/wait",
			strings.NewReader(fmt.Sprintf(`{"zoneId":%q,"challenge":%q}`, zoneID, shown)))
		q.RemoteAddr = from
		r.HTTP.ServeHTTP(w, q)
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
		first := room.Read(t, join(near, shown))
		if again := room.Read(t, join(other, shown)); first.Token == "" || again.Token == "" || r.Place(t, again.Token).ID != r.Place(t, first.Token).ID {
			t.Errorf("%s: %+v, from %s %+v", near, first, other, again)
		}
	}
}

// TestSolutionsAreUsedOnce: also on another server, and after a restart.
func TestSolutionsAreUsedOnce(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	r.Set(t, func(s *zone.Settings) { s.PassTTLSeconds = 10; s.PerMinute = 600 })
	shown := solve(t, r.asked(t, r.joinWith("c", ""), "required"))
	in := room.Read(t, r.joinWith("c", shown))
	if again := room.Read(t, r.joinWith("c", shown)); !in.CanEnter || again.Admission == nil || again.Admission.Pass != in.Admission.Pass {
		t.Fatalf("%+v, then %+v", in, again)
	}
	r.Forward(20 * time.Second)
	r.asked(t, r.joinWith("c", shown), "used")
	r.Store.Asked()
	r.asked(t, r.joinWith("c", shown), "used")
	if calls := r.Store.Asked(); len(calls) > 0 {
		t.Errorf("the store was asked for %q about a solution that is known to be used", calls)
	}
	r.challenging(t) // knows nothing of it
	r.asked(t, r.joinWith("c", shown), "used")

	// A place that could not be taken leaves the solution as it was.
	shown = solve(t, r.asked(t, r.joinWith("d", ""), "required"))
	r.Store.Status = line.Full
	if w := r.joinWith("d", shown); w.Code != http.StatusTooManyRequests {
		t.Errorf("a full line: %d %s", w.Code, w.Body)
	}
	r.Store.Status = line.Waiting
	r.Store.Fail(line.ErrStoreUnavailable)
	if w := r.joinWith("d", shown); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without the store: %d %s", w.Code, w.Body)
	}
	r.Store.Fail(nil)
	if w := r.joinWith("d", shown); w.Code != http.StatusOK {
		t.Errorf("then: %d %s", w.Code, w.Body)
	}
}

// TestWhoIsAsked: who has to show work, and who need not.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(r *server, s *zone.Settings)
		line   bool
		asks   bool
	}{
		"with a line":                {func(*server, *zone.Settings) {}, true, true},
		"without":                    {func(*server, *zone.Settings) {}, false, false},
		"always":                     {func(_ *server, s *zone.Settings) { s.ChallengeWhen = zone.ChallengeAlways }, false, true},
		"no challenge":               {func(_ *server, s *zone.Settings) { s.Challenge = zone.ChallengeNone }, true, false},
		"open":                       {func(_ *server, s *zone.Settings) { s.Mode = zone.ModeOpen }, true, false},
		"closed":                     {func(_ *server, s *zone.Settings) { s.Mode = zone.ModeClosed }, true, false},
		"sold out":                   {func(_ *server, s *zone.Settings) { s.SoldOut = zone.Texts{"default": "Gone."} }, true, false},
		"by invitation":              {func(_ *server, s *zone.Settings) { s.Invitation = "spring" }, true, false},
		"a member, by the backend":   {func(r *server, _ *zone.Settings) { r.From = room.Backend }, true, false},
		"of a provider without keys": {func(_ *server, s *zone.Settings) { s.Challenge = zone.ChallengeTurnstile }, true, true},
	} {
		r := newServer(t)
		r.challenging(t)
		r.Lined(t, tt.line)
		r.Set(t, func(s *zone.Settings) { tt.change(r, s) })
		r.Meter.Seen()
		if d := room.Read(t, r.joinWith("c", "")); (d.Code == "challenge_required") != tt.asks {
			t.Errorf("%s: %+v", name, d)
		}
		if tt.asks && !slices.Equal(r.Meter.Seen(), []string{"challenge TEST_ZONE required", "join TEST_ZONE challenged", "refuse TEST_ZONE challenge_required"}) {
			t.Errorf("%s: metered otherwise", name)
		}
	}
}

// TestWithoutScript: who cannot do the work takes a place after a minute, once, where the settings allow it. Where they do not, who is
// only too slow takes one after SlowWait, once.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	shown, err := challenge.Unsolved(r.asked(t, r.joinWith("c", ""), "required"))
	room.Must(t, err)
	r.Forward(challenge.SlowWait - time.Second)
	r.asked(t, r.joinWith("c", shown), "required")
	r.Forward(time.Second)
	first := r.joinWith("c", shown)
	if in, again := room.Read(t, first), room.Read(t, r.joinWith("c", shown)); !in.CanEnter || again.Admission.Pass != in.Admission.Pass {
		t.Errorf("after 45 s: %d %+v, and again %+v", first.Code, in, again)
	}
	r.Set(t, func(s *zone.Settings) { s.ChallengeWithoutScript = zone.WithoutScriptWait })
	work := r.asked(t, r.joinWith("d", ""), "required")
	shown, err = challenge.Unsolved(work)
	room.Must(t, err)
	r.Forward(20 * time.Second)
	w := r.joinWith("d", shown)
	if same := r.asked(t, w, "required"); same != work || w.Header().Get("Retry-After") != "40" || !strings.Contains(w.Body.String(), `"unsolvedAfterSeconds":40`) {
		t.Errorf("after 20 s: %v %s", w.Header(), w.Body)
	}
}

// TestWorkWhileTheStoreIsAway: a zone that lets people in then does so by the work alone.
func TestWorkWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.challenging(t)
	r.Set(t, func(s *zone.Settings) { s.OnStoreFailure = zone.FailureAdmit })
	j := challenge.Join{Zone: r.Zones.Known(zoneID).Settings(), ClientID: "c", Network: "192.0.2.0/24", CountAttempt: func(int64) bool { return false }}
	var required *challenge.RequiredError
	if _, err := r.Challenges.Check(t.Context(), j); !errors.As(err, &required) {
		t.Fatal(err)
	}
	shown := solve(t, r.easy(t, *required.Work))
	r.Store.Asked()
	r.Store.Fail(line.ErrStoreUnavailable)
	if w := r.joinWith("c", shown); w.Code != http.StatusServiceUnavailable || !slices.Equal(r.Store.Asked(), []string{"spend", "join"}) {
		t.Errorf("%d %s: a registry that lets in was not asked", w.Code, w.Body)
	}
}
