package lua

import (
	"fmt"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// BenchmarkAllow has 10,000 clients ask for permits under one rule of each algorithm, 256 at a time: under a limit that nobody
// reaches, and under one that each has reached. What a decision costs Redis is in redis-us/decision.
func BenchmarkAllow(b *testing.B) {
	const clients, atOnce = 10_000, 256
	for _, a := range limit.Algorithms {
		for name, rule := range map[string]limit.Rule{
			"allowed": {Algorithm: a, Limit: 5_000, WindowSeconds: 10},
			"refused": {Algorithm: a, Limit: 1, WindowSeconds: limit.MaxWindowSeconds},
		} {
			b.Run(string(a)+"/"+name, func(b *testing.B) {
				s := openStore(b, nil)
				if a.HasBurst() {
					rule.Burst = rule.Limit
				}
				ask := func(i int) {
					q := limit.Request{Policy: "p", Tier: "t", Subject: fmt.Sprintf("%022d", i), Rules: []limit.Rule{rule}, Cost: 1}
					if _, err := s.Allow(b.Context(), q); err != nil {
						b.Error(err)
					}
				}
				inTurn(atOnce, clients, ask)
				before, n := redisCPU(b, s), 0
				for b.Loop() {
					n += inTurn(atOnce, clients, ask)
				}
				b.ReportMetric(float64((redisCPU(b, s)-before).Nanoseconds())/1000/float64(n), "redis-us/decision")
			})
		}
	}
}
