package embedded

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/conformance"
)

func TestModel(t *testing.T) {
	t.Parallel()
	conformance.Property(t, openHarness)
}

func openHarness(t conformance.TB, now func() time.Time) conformance.Harness {
	t.Helper()
	open := func() conformance.Store {
		s, err := Open(Options{Now: now})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return s
	}
	return conformance.Harness{
		Store: open(),
		Lose:  func(conformance.TB) conformance.Store { return open() },
	}
}
