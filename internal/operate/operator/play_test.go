package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/simulate/sale"
	"github.com/openqueue/waitingroom/internal/zone"
)

// meanwhile is a context that does something once it is asked when it ends: in the midst of
// what it is for.
type meanwhile struct {
	context.Context
	do func()
}

func (m meanwhile) Deadline() (time.Time, bool) {
	m.do()
	return m.Context.Deadline()
}

// TestPlayIsBounded: in size, in time, and one at a time.
func TestPlayIsBounded(t *testing.T) {
	t.Parallel()
	s := operator.New(nil, nil, nil)
	z := zone.Defaults("Z")
	z.Events = []event.Event{{Name: "noon", OpensAt: "2030-06-01T12:00:00Z"}}
	c := sale.Config{Zone: z, Event: "noon", Gather: 20, Within: time.Minute, Arrive: sale.Evenly, Outage: time.Second}
	var busy error
	reports, err := s.Play(meanwhile{t.Context(), func() {
		if busy == nil {
			_, busy = s.Play(context.Background(), c)
		}
	}}, c)
	if err != nil || len(reports) != 2 || reports[0].Admitted != 20 || reports[1].OutageMs != 1_000 {
		t.Errorf("%+v, %v", reports, err)
	}
	if !errors.Is(busy, operator.ErrBusy) {
		t.Errorf("a second one at a time: %v", busy)
	}
	c.Gather = operator.MaxPlayed + 1
	if _, err := s.Play(t.Context(), c); !errors.Is(err, sale.ErrConfig) {
		t.Errorf("too many: %v", err)
	}
	c.Gather = 20
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Play(gone, c); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits for it: %v", err)
	}
}
