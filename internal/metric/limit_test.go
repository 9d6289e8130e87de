package metric

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	m, reg := newTest(t)
	l := limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{}), Meter: m})
	m.ShowLimits(l)
	one := []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: limit.MaxWindowSeconds}}
	policy := limit.Policy{Name: "api", Scope: limit.ScopeServer, Rules: one, Tiers: map[string][]limit.Rule{"pro": one}}
	l.Use(limit.PolicySet{}.Put(policy))
	for range 3 {
		if _, err := l.Check(t.Context(), limiter.Question{Policy: "api", Key: "ip:203.0.113.9"}); err != nil {
			t.Fatal(err)
		}
	}
	m.Failing(3, true)
	for outcome, want := range map[string]float64{
		"allowed": 1, "refused": 1, "refused_from_memory": 1, "allowed_locally": 0, "allowed_open": 0, "refused_closed": 0, "refused_locally": 0,
	} {
		for tier, want := range map[string]float64{"default": want, "pro": 0} {
			if got := value(t, reg, "queue_limit_decisions_total", "policy", "api", "tier", tier, "outcome", outcome); got != want {
				t.Errorf("%s, %s: %v, want %v", tier, outcome, got, want)
			}
		}
	}
	failing, calm := value(t, reg, "queue_limit_partition_changes_total", "to", "failing"), value(t, reg, "queue_limit_partition_changes_total", "to", "calm")
	if now := value(t, reg, "queue_limit_failing_partitions"); now != 0 || failing != 1 || calm != 0 {
		t.Errorf("%v partitions fail, %v began to, %v are calm again", now, failing, calm)
	}
	m.Took(limiter.SourceStore, time.Millisecond)
	m.Took("elsewhere", time.Second) // is not counted
	store, _ := observed(t, reg, "queue_limit_decision_seconds", "source", "store")
	local, _ := observed(t, reg, "queue_limit_decision_seconds", "source", "local")
	if store != 1 || local != 2 || len(find(t, reg, "queue_limit_decision_seconds")) != 2 { // the decision from memory is not timed
		t.Errorf("timed: %d of the store, %d locally", store, local)
	}
}
