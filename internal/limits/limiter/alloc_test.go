//go:build !race

package limiter

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

func TestARefusalFromMemoryAllocatesNothing(t *testing.T) {
	l := refusing(t, limit.Policy{
		Name: "p", Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 86_400}},
	})
	ctx := t.Context()
	if n := testing.AllocsPerRun(5000, func() {
		_, _ = l.Check(ctx, Question{Policy: "p", Key: "ip:203.0.113.9"})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
