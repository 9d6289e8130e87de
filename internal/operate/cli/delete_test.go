package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestDeleteOfAZoneWithAnEvent: the command that makes it again is one that zones create takes. It has the settings from
// before an event that is under way, and no event that a server would refuse.
func TestDeleteOfAZoneWithAnEvent(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	past, dusk := event.Event{Name: "noon", OpensAt: at(-time.Hour)}, event.Event{Name: "dusk", OpensAt: at(time.Hour)}
	sale := zone.Defaults("SALE")
	sale.PerMinute = 30
	sale.EventState.Now = &event.Progress{Event: past, Fixed: true, Phase: event.PhaseAnnounced}
	under := sale
	under.PerMinute, under.Events = 6000, []event.Event{past, dusk}
	under.Events[0].Settings = event.Values{"perMinute": "6000"}
	under.EventState.Now = &event.Progress{Event: under.Events[0], Fixed: true, Phase: event.PhaseOpen, Before: event.Values{"perMinute": "30"}}
	for end, z := range map[string]zone.Settings{
		"perMinute=30\n": sale,
		`perMinute=30 'events=[{"name":"dusk","opensAt":"` + dusk.OpensAt + "\"}]'\n": under,
	} {
		if got := answered(t, []string{"zones", "delete", "SALE", "--yes"}, z, z); !strings.HasSuffix(got, "\n  queue-server zones create SALE "+end) {
			t.Errorf("it says %s, want %s", got, end)
		}
	}
}
