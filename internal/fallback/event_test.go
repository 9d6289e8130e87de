package fallback

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// TestNobodyIsLetInBeforeTheOpening: the store alone knows when it opens, so no server lets anybody in by itself from when
// people gather until it has heard of the opening.
func TestNobodyIsLetInBeforeTheOpening(t *testing.T) {
	const never = 24 * time.Hour
	for _, tt := range []struct {
		name           string
		phase          event.Phase
		gathers, opens time.Duration
		want           string
	}{
		{"long before", event.PhaseAnnounced, never, 2 * never, "admitted locally"},
		{"people gather, by the clock alone", event.PhaseAnnounced, 10 * time.Second, never, "held"},
		{"people gather", event.PhaseGathering, -time.Minute, never, "held"},
		{"it opened while the store was away", event.PhaseGathering, -time.Hour, 5 * time.Second, "held"},
		{"it has opened", event.PhaseOpen, -time.Hour, -time.Minute, "admitted locally"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, 1, uneven(10))
			s := r.servers[0]
			places := r.join(s, 3)
			settings, _ := s.link.Remembered(testZone)
			now := r.clock.now()
			settings.EventState.Now = &event.Progress{
				Event: event.Event{Name: "noon"}, Phase: tt.phase, Order: event.OrderArrival,
				PreQueueAtMillis: now.Add(tt.gathers).UnixMilli(), SettlesAtMillis: now.Add(tt.opens).UnixMilli(),
				OpensAtMillis: now.Add(tt.opens).UnixMilli(),
			}
			s.link.remember(&settings)
			r.toAway(s, places[0])
			r.pass(30 * time.Second)
			r.poll(s, places[0], tt.want)
			if _, err := s.Join(t.Context(), testZone, r.newID()); err == nil && tt.want == "held" {
				t.Error("a newcomer was let in")
			}
		})
	}
}
