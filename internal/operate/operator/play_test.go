package operator_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestPlayIsBounded: in size, in time, and one at a time.
func TestPlayIsBounded(t *testing.T) {
	t.Parallel()
	s := operator.New(nil, nil, nil)
	z := zone.Defaults("Z")
	z.Events = []event.Event{{Name: "noon", OpensAt: "2030-06-01T12:00:00Z"}}
	c := simulate.EventConfig{Zone: z, Event: "noon", Gather: 20, Within: time.Minute}
	report, err := s.Play(t.Context(), c)
	if err != nil || report.Admitted != 20 {
		t.Errorf("%+v, %v", report, err)
	}
	c.Gather = 1_000
	for met := false; !met && t.Context().Err() == nil; { // until two are begun at once
		other := make(chan error)
		go func() { _, err := s.Play(t.Context(), c); other <- err }()
		_, mine := s.Play(t.Context(), c)
		its := <-other
		if met = mine != nil || its != nil; met && !errors.Is(cmp.Or(mine, its), operator.ErrBusy) || mine != nil && its != nil {
			t.Errorf("two at a time: %v, %v", mine, its)
		}
	}
	c.Gather = operator.MaxPlayed + 1
	if _, err := s.Play(t.Context(), c); !errors.Is(err, simulate.ErrConfig) {
		t.Errorf("too many: %v", err)
	}
	c.Gather = 20
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Play(gone, c); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it: %v", err)
	}
}
