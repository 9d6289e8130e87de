package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/serve"
)

// api is a policy with a tier, and two rules.
func api() limit.Policy {
	return limit.Policy{
		Name: "api", Key: []limit.Source{limit.SourceAPIKey, limit.SourceIP},
		Rules: []limit.Rule{
			{Algorithm: limit.SlidingLog, Limit: 100, WindowSeconds: 60},
			{Algorithm: limit.TokenBucket, Limit: 6_000, WindowSeconds: 3_600, Burst: 20},
		},
		Tiers:          map[string][]limit.Rule{"pro": {{Algorithm: limit.FixedWindow, Limit: 9_000, WindowSeconds: 300}}},
		OnStoreFailure: limit.FailureClosed,
	}
}

// busyLimit is what was seen of it: 1,200 of 2,000 were refused in the last minute.
func busyLimit() limiter.Stats {
	recent := limiter.Counts{limiter.Allowed: 800, limiter.Refused: 100, limiter.RefusedFromMemory: 1_100}
	return limiter.Stats{
		Policy: api(), RecentSeconds: 60,
		Tiers: []limiter.TierStats{{Tier: limit.DefaultTier, Recent: recent, Total: recent}, {Tier: "pro"}},
	}
}

func (r *room) putPolicy(p limit.Policy, by string) {
	r.tb.Helper()
	_, _, err := r.book.Put(r.tb.Context(), p, by, serve.Condition{})
	must(r.tb, err)
	r.pass(time.Second)
}

func (r *room) policy(name string) limit.Policy {
	r.tb.Helper()
	p, err := r.book.Get(r.tb.Context(), name)
	must(r.tb, err)
	return p
}

func TestLimitsAreShown(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	anna := r.enter("Anna")
	shows(t, anna.get("limits"), "There is no policy yet.")
	r.putPolicy(api(), "Bea")
	shows(t, anna.get("limits"), "api ? No figures yet", "100 in any 60 s, and 6,000 in 1 h and 20 at once; 1 more tier")
	r.decided.set("api", busyLimit())
	shows(t, anna.get("limits"), "Policies 1 in force Asked 2,000", "▲ Refusing many", "800 1,200 1,100 0 refused 60 %", "Store answers it decides")
	shows(t, anna.get("limits/api"), "▲ Refusing many The last 60 s, on this server: Asked 2,000 Allowed 800 Refused 1,200 Share refused 60 %",
		"default 100 in any 60 s, and 6,000 in 1 h and 20 at once", "pro 9,000 in each 5 min of the clock",
		"Told apart by API key, else address", "Bea", "Made the policy: Rules 100 in any 60 s (sliding log)")
	away := busyLimit()
	away.Failing = 3
	r.decided.set("api", away)
	shows(t, anna.get("limits/api"), "✕ Store away")
	shows(t, anna.get("limits"), "Store away for 3 of its 16 partitions")
	away.Policy.Scope = limit.ScopeServer
	r.decided.set("api", away)
	own := api()
	own.Scope = limit.ScopeServer
	r.putPolicy(own, "Bea")
	shows(t, anna.get("limits/api"), "▲ Refusing many", "by each server for itself")
	shows(t, anna.get("limits"), "0 not asked 60 %")
	shows(t, anna.get(""), "Limits")
	if w := anna.get("limits/other"); w.Code != http.StatusNotFound {
		t.Errorf("another policy: %d", w.Code)
	}
}

func TestLimitsEvents(t *testing.T) {
	r := newRoom(t)
	r.putPolicy(api(), "Bea")
	r.decided.set("api", busyLimit())
	p := r.enter("Anna")
	address := r.listening(t)
	all := p.open(t, address, "limits-events")
	_, err := all.next()
	must(t, err)
	event := all.wants("figures")
	if rows, _ := event["rows"].([]any); len(rows) != 1 || figureIn(event, "asked") != "2,000" {
		t.Errorf("all: %v", event)
	}
	stamp := event["stamp"]
	must(t, r.book.Delete(t.Context(), "api", "Bea", serve.Condition{}))
	r.seen.round(nil)
	if event = all.wants("figures"); event["stamp"] == stamp || figureIn(event, "policies") != "0" {
		t.Errorf("after a deletion: %v", event)
	}
	r.seen.stop()
	all.ends()
}

func TestAPolicyIsChangedWithCare(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.putPolicy(api(), "Bea")
	r.decided.set("api", busyLimit())
	anna := r.enter("Anna")
	const field = "default.1.sliding_log.limit"

	asked := anna.get("limits/api/change?" + field + "=250")
	shows(t, asked, "Change the rules of api?", "A client may take 250 in any 60 s.", "That is 2.5 times as many as now.",
		"As it is now, 1,200 of 2,000 were refused in the last minute", "Rules 100 in any 60 s (sliding log), and 6,000 in 1 h and 20 at once (token bucket) 250 in any 60 s", "Cancel Change it")
	if got := r.policy("api").Rules[0].Limit; got != 100 {
		t.Fatalf("asking has set the limit to %d", got)
	}
	yes := formOf(t, asked, "limits/api/change")
	done := anna.follow(anna.post("limits/api/change", yes))
	shows(t, done, "by Anna. Rules 100 in any 60 s (sliding log), and 6,000 in 1 h and 20 at once (token bucket) → to 250 in any 60 s", "Undo : Rules back to 100 in any 60 s")
	if got := r.policy("api").Rules[0].Limit; got != 250 {
		t.Fatalf("the limit is %d", got)
	}
	// The same form once more is of somebody who saw 100.
	w := anna.post("limits/api/change", yes)
	shows(t, w, "Not changed Anna was faster", "Rules 100 in any 60 s (sliding log), and 6,000 in 1 h and 20 at once (token bucket) 250 in any 60 s", "Look at api")
	if w.Code != http.StatusConflict {
		t.Errorf("a conflict: %d", w.Code)
	}
	// What others set meanwhile, of other figures, stays.
	asked = anna.get("limits/api/change?" + field + "=300")
	other := r.policy("api")
	other.OnStoreFailure = limit.FailureOpen
	r.putPolicy(other, "Bea")
	anna.follow(anna.post("limits/api/change", formOf(t, asked, "limits/api/change")))
	if got := r.policy("api"); got.Rules[0].Limit != 300 || got.OnStoreFailure != limit.FailureOpen {
		t.Errorf("both changes: %+v", got)
	}
	// A rule that is another meanwhile is not set, whatever its figure.
	asked = anna.get("limits/api/change?" + field + "=400")
	other = r.policy("api")
	other.Rules[0].Algorithm = limit.SlidingCounter
	r.putPolicy(other, "Bea")
	w = anna.post("limits/api/change", formOf(t, asked, "limits/api/change"))
	shows(t, w, "Not changed Bea was faster", "300 in any 60 s (sliding log)", "about 300 in any 60 s (sliding counter)")

	// Undoing what changed an algorithm puts all rules back.
	page := anna.get("limits/api")
	shows(t, page, "Rules 300 in any 60 s (sliding log)", "Undo : Rules back to 300 in any 60 s (sliding log)")
	anna.follow(anna.post("limits/api/undo", formOf(t, page, "limits/api/undo")))
	if got := r.policy("api").Rules[0]; got != (limit.Rule{Algorithm: limit.SlidingLog, Limit: 300, WindowSeconds: 60}) {
		t.Errorf("after undoing: %+v", got)
	}
}

func TestAPolicyThatCannotBeSo(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.putPolicy(api(), "Bea")
	anna := r.enter("Anna")
	for query, says := range map[string]string{
		"default.1.sliding_log.limit=10001":  "Limit: write a whole number between 1 and 10,000.",
		"pro.1.fixed_window.windowSeconds=0": "Window: write a whole number between 1 and 86,400.",
		"onStoreFailure=maybe":               "When the store is away: choose one of the list.",
		"key=ip":                             "Told apart by: write a list of ip, apiKey and jwt, as JSON.",
	} {
		w := anna.get("limits/api/change?" + query)
		if w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), `class="main"`) {
			t.Errorf("%s: %d, or a button", query, w.Code)
		}
		shows(t, w, "This cannot be set", says)
	}
	shows(t, anna.get("limits/api/change?scope=shared"), "Nothing to change")
	away := busyLimit()
	away.Failing = 16
	r.decided.set("api", away)
	shows(t, anna.get("limits/api/change?onStoreFailure=open"), "Set when the store is away of api to open: let all through?",
		"who asks meanwhile is let through. It is away just now, for 16 of its 16 partitions.")
	w := anna.post("limits/api/change", url.Values{"was.scope": {"shared"}, "scope": {"everywhere"}})
	if w.Code != http.StatusUnprocessableEntity || r.policy("api").Scope != limit.ScopeShared {
		t.Errorf("a form that was not asked for: %d, %+v", w.Code, r.policy("api"))
	}
}

// TestWhichZonesAPolicyIsFor: what the guard fits to each zone is not shown as what an
// address may take of every zone.
func TestWhichZonesAPolicyIsFor(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.putPolicy(api(), "Bea")
	for _, p := range guard.Policies() {
		r.putPolicy(p, "config")
	}
	anna := r.enter("Anna")
	const says = "This is for a zone with a limit of 600 a minute. For others it is in proportion to their limit."
	shows(t, anna.get("limits"), "120 in 60 s and 30 at once, of a zone with 600 a minute")
	shows(t, anna.get("limits/joins-zone"), says)
	shows(t, anna.get("limits/joins-zone/change?default.1.token_bucket.burst=1000"), "A client may take 120 in 60 s and 1,000 at once. "+says)
	for _, page := range []string{"limits/api", "limits/joins-address", "limits/joins-zone/change?onStoreFailure=open"} {
		if strings.Contains(anna.get(page).Body.String(), "in proportion") {
			t.Errorf("%s speaks of zones", page)
		}
	}
}
