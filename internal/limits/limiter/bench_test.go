package limiter

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

func refusing(tb testing.TB, policy limit.Policy) *Limiter {
	tb.Helper()
	l := New(Dependencies{Local: newCounting(time.Now), Secret: make([]byte, 32)})
	l.Use(bookOf(policy))
	for range 20 {
		if _, err := l.Check(tb.Context(), Question{Policy: policy.Name, Key: "ip:203.0.113.9"}); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

// BenchmarkRefusedFromMemory is to be compared with BenchmarkBareHandler: a refusal must cost
// less than an answer of a handler that does nothing.
func BenchmarkRefusedFromMemory(b *testing.B) {
	l := refusing(b, limit.Policy{Name: "p", Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 8, WindowSeconds: 86_400}}})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, err := l.Check(b.Context(), Question{Policy: "p", Key: "ip:203.0.113.9"})
			if err != nil || a.Source != SourceMemory {
				b.Errorf("%+v, %v", a, err)
				return
			}
		}
	})
}
