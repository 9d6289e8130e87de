package metric

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	m, reg := newTest(t)
	l := limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{}), Meter: m})
	if err := m.ShowLimits(l); err != nil {
		t.Fatal(err)
	}
	one := []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: limit.MaxWindowSeconds}}
	policy := limit.Policy{Name: "api", Scope: limit.ScopeServer, Rules: one, Tiers: map[string][]limit.Rule{"pro": one}}
	l.Use(limit.PolicySet{}.Put(policy))
	for range 3 {
		if _, err := l.Check(t.Context(), limiter.Question{Policy: "api", Key: "ip:203.0.113.9"}); err != nil {
			t.Fatal(err)
		}
	}
	m.Failing(3, true)
	const want = `
# HELP queue_limit_decisions_total Questions to the limits, by what became of them.
# TYPE queue_limit_decisions_total counter
queue_limit_decisions_total{outcome="allowed",policy="api",tier="default"} 1
queue_limit_decisions_total{outcome="allowed",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="allowed_locally",policy="api",tier="default"} 0
queue_limit_decisions_total{outcome="allowed_locally",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="allowed_open",policy="api",tier="default"} 0
queue_limit_decisions_total{outcome="allowed_open",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="refused",policy="api",tier="default"} 1
queue_limit_decisions_total{outcome="refused",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="refused_closed",policy="api",tier="default"} 0
queue_limit_decisions_total{outcome="refused_closed",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="refused_from_memory",policy="api",tier="default"} 1
queue_limit_decisions_total{outcome="refused_from_memory",policy="api",tier="pro"} 0
queue_limit_decisions_total{outcome="refused_locally",policy="api",tier="default"} 0
queue_limit_decisions_total{outcome="refused_locally",policy="api",tier="pro"} 0
# HELP queue_limit_failing_partitions How many partitions of the limits' store, of up to 16, do not answer, so that onStoreFailure decides.
# TYPE queue_limit_failing_partitions gauge
queue_limit_failing_partitions 0
# HELP queue_limit_partition_changes_total How often a partition of the limits' store began to fail, and was calm again.
# TYPE queue_limit_partition_changes_total counter
queue_limit_partition_changes_total{to="calm"} 0
queue_limit_partition_changes_total{to="failing"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
		"queue_limit_decisions_total",
		"queue_limit_failing_partitions", "queue_limit_partition_changes_total"); err != nil {
		t.Error(err)
	}
	m.Took(limiter.SourceStore, time.Millisecond)
	m.Took("elsewhere", time.Second) // is not counted
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	timed := map[string]uint64{}
	for _, f := range families {
		if f.GetName() == "queue_limit_decision_seconds" {
			for _, m := range f.GetMetric() {
				timed[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	// The decision from memory is not timed.
	if len(timed) != 2 || timed["local"] != 2 || timed["store"] != 1 {
		t.Errorf("timed: %v", timed)
	}
}
