package cli

import (
	"cmp"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestEffectWhilePeopleGather(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: event.Never}
	for _, tt := range []struct {
		mode                 zone.Mode
		limit                int64
		effect, pause, state string
	}{
		{zone.ModeQueue, 600, "Nobody is let in before noon opens; everybody keeps the place.", "", "gathering"},
		{zone.ModeClosed, 600, "Newcomers are turned away, and nobody is let in before noon opens; everybody keeps the place.", "", "gathering, closed"},
		{zone.ModeOpen, 600, "Nobody is let in before noon opens; then everybody is, at once, whatever the limit.", "", "gathering, open"},
		{zone.ModeQueue, 0, "Nobody is let in, nor once noon opens; everybody keeps the place.", "", "gathering, paused"},
		{zone.ModeClosed, 0, "Newcomers are turned away, and nobody is let in, nor once noon opens; everybody keeps the place.", "", "gathering, closed, paused"},
		{zone.ModeOpen, 0, "Nobody is let in before noon opens; then everybody is, at once, whatever the limit.",
			"BUT ITS MODE IS open, and everybody is let in once noon opens: see queue-server zones set Z mode=queue", "gathering, open"},
	} {
		z.Mode, z.PerMinute, z.EventState.Now.OpensAtMillis = tt.mode, tt.limit, time.Now().Add(time.Hour).UnixMilli()
		if got := effect(z); got != tt.effect {
			t.Errorf("%s, %d: %q, want %q", tt.mode, tt.limit, got, tt.effect)
		}
		if got := pauseEffect(z); tt.limit == 0 && got != cmp.Or(tt.pause, tt.effect) {
			t.Errorf("%s, a pause: %q, want %q", tt.mode, got, tt.pause)
		}
		if got := z.State(); got != tt.state {
			t.Errorf("%s, %d: its state is %q, want %q", tt.mode, tt.limit, got, tt.state)
		}
		if z.EventState.Now.OpensAtMillis = event.Never; z.State() != "opening held" {
			t.Errorf("%s, held: %q", tt.mode, z.State())
		}
	}
	z.EventState.Now.Phase = event.PhaseOpen
	if got, want := effect(z), "Everybody is let in."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	z.Mode = zone.ModeClosed
	if got, want := effect(z), "Newcomers are turned away, and nobody is let in; everybody keeps the place."; got != want {
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
	got := zoneChange(zone.Change{ZoneID: "SALE", Was: &was, Now: &now})
	const want = "eventState noon, gathering, opens at 2026-12-01T11:00:00Z, closes at 2026-12-01T12:00:00Z, ends held" +
		" -> noon, gathering, opens at 2026-12-01T11:00:00Z, ends held"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAPauseThatHoldsNobody says so, also if the limit was 0 before.
func TestAPauseThatHoldsNobody(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("Z")
	z.Mode, z.PerMinute = zone.ModeOpen, 0
	const want = "Z is paused already. BUT ITS MODE IS open, and everybody is let in: see queue-server zones set Z mode=queue\n"
	if got := answered(t, []string{"zones", "pause", "Z"}, z, z); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
