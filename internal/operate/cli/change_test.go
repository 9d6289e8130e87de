package cli

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
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
