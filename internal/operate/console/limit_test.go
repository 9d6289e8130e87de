package console_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
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
		Name: "api", RecentSeconds: 60,
		Tiers: []limiter.TierStats{{Tier: limit.DefaultTier, Recent: recent, Total: recent}, {Tier: "pro"}},
	}
}

func (r *room) putPolicy(p limit.Policy, by string) {
	r.tb.Helper()
	_, _, err := r.policies.Put(r.tb.Context(), p, audit.By{Name: by}, serve.Condition{})
	parts.Must(r.tb, err)
	r.Forward(time.Second)
}

// TestLimitsAreShown: what each policy allows, what it does, and in the record who changed it.
func TestLimitsAreShown(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	anna := r.enter("Anna")
	shows(t, anna.get("limits"), "There is no policy yet.")
	r.putPolicy(api(), "Bea")
	shows(t, anna.get("limits"), "api ? No figures yet", "100 in any 60 s, and 6,000 in 1 h and 20 at once; pro: 9,000 in each 5 min of the clock")
	r.decided.set("api", busyLimit())
	shows(t, anna.get("limits"), "Policies 1 in force Asked 2,000", "▲ Refusing many", "800 1,200 1,100 0 refused 60 %", "Store answers it decides")
	away := busyLimit()
	away.Failing = 3
	r.decided.set("api", away)
	shows(t, anna.get("limits"), "✕ Store away", "Store away for 3 of its 16 partitions")
	own := api()
	own.Scope = limit.ScopeServer
	r.putPolicy(own, "Bea")
	r.decided.set("api", away)
	shows(t, anna.get("limits"), "▲ Refusing many", "0 not asked 60 %")
	parts.Must(t, r.policies.Delete(t.Context(), "api", audit.By{Name: "Bea"}, serve.Condition{}))
	shows(t, anna.get("changes"), "Bea api Made the policy: Rules 100 in any 60 s (sliding log)", "Bea api Counted shared: by the store → to server: each for itself", "Bea api Deleted the policy")
	shows(t, anna.get("changes"), "Verify all records")
	shows(t, anna.get("changes?verify"), "Verified: every entry is as a server of this room wrote it.")
	for _, p := range guard.Policies() {
		r.putPolicy(p, "config")
	}
	shows(t, anna.get("limits"), "120 in 60 s and 30 at once, of a zone with 600 a minute")
}

func TestLimitsEvents(t *testing.T) {
	r := newRoom(t)
	r.putPolicy(api(), "Bea")
	r.decided.set("api", busyLimit())
	p := r.enter("Anna")
	address := r.listening(t)
	all := p.open(t, address, "limits/events")
	_, err := all.next()
	parts.Must(t, err)
	event := all.wants("figures")
	if rows, _ := event["rows"].([]any); len(rows) != 1 || figureIn(event, "asked") != "2,000" {
		t.Errorf("all: %v", event)
	}
	stamp := event["stamp"]
	parts.Must(t, r.policies.Delete(t.Context(), "api", audit.By{Name: "Bea"}, serve.Condition{}))
	r.seen.round(nil)
	if event = all.wants("figures"); event["stamp"] == stamp || figureIn(event, "policies") != "0" {
		t.Errorf("after a deletion: %v", event)
	}
	r.seen.stop()
	all.ends()
}
