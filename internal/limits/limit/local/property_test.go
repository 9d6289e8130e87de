package local

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/check/conformance/limits"
)

// openFor opens a store that forgets only by the clock that it is given.
func openFor(t conformance.TB, now func() time.Time) limits.Store {
	s := New(CountersOptions{Now: now})
	for i := range s.shards {
		s.shards[i].linger = 1 << 40
	}
	t.Cleanup(s.Close)
	return s
}

func TestModel(t *testing.T) {
	t.Parallel()
	limits.Property(t, openFor)
}
