package embedded

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
)

// Most calls are polls of visitors beyond the edge. Such a poll allocates nothing.
func TestAPollAllocatesNothing(t *testing.T) {
	s, err := Open(Options{Now: conformance.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := s.PutZone(ctx, slow(), nil, ""); err != nil {
		t.Fatal(err)
	}
	var a line.Answer
	for range 20 {
		if a, err = s.Join(ctx, "z", randomID()); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Poll(ctx, "z", a.Place); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a poll makes %v allocations, want none", n)
	}
}
