package lua

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/conformance"
	"github.com/openqueue/waitingroom/internal/conformance/limits"
)

// openLimits opens a store whose keys stay as long as its test, whatever the clock.
func openLimits(t conformance.TB, now func() time.Time) *Store {
	t.Helper()
	s := openStore(t, now)
	s.linger = time.Hour
	return s
}

func TestLimitsModel(t *testing.T) {
	t.Parallel()
	limits.Property(t, func(t conformance.TB, now func() time.Time) limits.Store {
		return openLimits(t, now)
	})
}
