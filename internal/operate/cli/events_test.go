package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gathering is a zone at five to twelve: people gather for noon, and there is an event each Friday evening.
func gathering(t *testing.T) (z zone.Settings, now time.Time) {
	t.Helper()
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	z = zone.Defaults("TICKETS")
	z.PerMinute = 600
	z.Events = []event.Event{
		{Name: "noon", PreQueueAt: noon.Add(-time.Hour).Format(time.RFC3339), OpensAt: noon.Format(time.RFC3339)},
		{Name: "friday", OpensAt: "2026-11-06T18:00:00Z", Recurs: "0 18 * * 5"},
	}
	state, ok := event.State{}.Announce(z.Events[:1], noon.Add(-2*time.Hour), nil)
	if !ok {
		t.Fatal("noon is not announced")
	}
	z.EventState = state.Made(event.StepPreQueue)
	return z, noon.Add(-5 * time.Minute)
}

// rows are the lines of a table, with one space between words.
func rows(table *table) (all []string) {
	for _, row := range table.lines(0)[1:] {
		all = append(all, strings.Join(strings.Fields(row), " "))
	}
	return all
}

// TestTheTableHasWhatComes: the next time of what recurs, and nothing that was skipped.
func TestTheTableHasWhatComes(t *testing.T) {
	t.Parallel()
	z, now := gathering(t)
	friday := "friday opens 2026-12-04T18:00:00Z they are let in, in the order in which they came; again 0 18 * * 5"
	want := []string{
		"noon preQueue 2026-12-01T11:00:00Z people gather, and nobody is let in (done)",
		"noon opens 2026-12-01T12:00:00Z they are let in, in the order in which they came", friday,
	}
	if got := rows(eventTable(z, now)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	skipped, fault := z.Skip(event.StepOpens, now)
	if fault != "" {
		t.Fatal(fault)
	}
	want = []string{"noon nothing comes of it any more: it is over, or was skipped", friday}
	if got := rows(eventTable(skipped, now)); !slices.Equal(got, want) {
		t.Errorf("skipped: %q, want %q", got, want)
	}
}

// TestAChangeOfTheListSaysWhatComesOfIt: not what was to come before it.
func TestAChangeOfTheListSaysWhatComesOfIt(t *testing.T) {
	t.Parallel()
	was, now := gathering(t)
	later := was
	later.Events = slices.Clone(was.Events[:1])
	later.Events[0].OpensAt = "2026-12-01T12:30:00Z"
	paused := later
	paused.Events, paused.PerMinute = nil, 0
	gone := paused
	gone.PerMinute = 600
	for name, tt := range map[string]struct {
		now  zone.Settings
		want []string
	}{
		"opens later":      {later, []string{"Tue 1 Dec 2026 12:30:00 UTC: noon: they are let in, in the order in which they came", "friday does not take place"}},
		"removed":          {gone, []string{"noon is under way, and ends now. 600 a minute are let in.", "friday does not take place"}},
		"removed, on hold": {paused, []string{"noon is under way, and ends now. Nobody is let in; everybody keeps the place.", "friday does not take place"}},
		"as it was":        {was, []string{"Tue 1 Dec 2026 12:00:00 UTC: noon: they are let in, in the order in which they came", "Fri 4 Dec 2026 18:00:00 UTC: friday: they are let in, in the order in which they came; again 0 18 * * 5"}},
	} {
		if got := eventLines(&was, tt.now, now); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
