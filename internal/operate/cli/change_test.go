package cli

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestTheRecordSaysWhatBecameOfAStep: in a few words, of any step, and not as the servers keep it.
func TestTheRecordSaysWhatBecameOfAStep(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC)
	was := zone.Defaults("SALE")
	was.EventState.Now = &event.Progress{
		Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, PreQueueAtMillis: opens.Add(-time.Hour).UnixMilli(),
		OpensAtMillis: opens.UnixMilli(), ClosesAtMillis: opens.Add(time.Hour).UnixMilli(), EndsAtMillis: event.Never, Held: event.StepEnds,
	}
	now := was
	moved := *was.EventState.Now
	moved.ClosesAtMillis += time.Hour.Milliseconds()
	now.EventState.Now = &moved
	got := zoneChange(zone.Change{ZoneID: "SALE", Was: &was, Now: &now})
	const want = "noon.closes 2026-12-01T12:00:00Z -> 2026-12-01T13:00:00Z"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
