package local

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/conformance"
	"github.com/openqueue/waitingroom/internal/conformance/limits"
)

func TestModel(t *testing.T) {
	t.Parallel()
	limits.Property(t, func(t conformance.TB, now func() time.Time) limits.Store {
		s := New(Options{Now: now})
		for i := range s.shards {
			s.shards[i].linger = 1 << 40
		}
		t.Cleanup(s.Close)
		return s
	})
}
