package cli

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestEffectWhilePeopleGather(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: event.Never}
	for _, mode := range []zone.Mode{zone.ModeQueue, zone.ModeOpen} {
		z.Mode = mode
		if got, want := effect(z), "Nobody is let in before noon opens; everybody keeps the place."; got != want {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
	}
	z.EventState.Now.Phase = event.PhaseOpen
	if got, want := effect(z), "Everybody is let in."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

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
	skipped := *was.EventState.Now
	skipped.ClosesAtMillis = 0
	now.EventState.Now = &skipped
	got := zoneChange(adminclient.Change{ZoneID: "SALE", Was: &was, Now: &now})
	const want = "eventState noon, gathering, opens at 2026-12-01T11:00:00Z, closes at 2026-12-01T12:00:00Z, ends held" +
		" -> noon, gathering, opens at 2026-12-01T11:00:00Z, ends held"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
