package change_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestDoing: the sentence agrees with the state that the operators' API tells.
func TestDoing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode                  zone.Mode
		limit                 int64
		gathers, held, sold   bool
		state, word, sentence string
	}{
		{zone.ModeQueue, 600, false, false, false, "queue", "Admitting", "People are admitted at the limit."},
		{zone.ModeQueue, 0, false, false, false, "paused", "Paused", "Nobody is admitted."},
		{zone.ModeClosed, 600, false, false, false, "closed", "Closed to newcomers", "Visitors who wait are still admitted."},
		{zone.ModeClosed, 0, false, false, false, "closed, paused", "Paused and closed", "Nobody is admitted, and newcomers are refused."},
		{zone.ModeOpen, 0, false, false, false, "open", "Open", "Each visitor is admitted at once."},
		{zone.ModeQueue, 600, false, false, true, "sold out", "Sold out", "Nobody is admitted."},
		{zone.ModeQueue, 600, true, false, false, "gathering", "Gathering", "Nobody is admitted before it opens."},
		{zone.ModeClosed, 600, true, false, false, "gathering, closed", "Closed to newcomers", "Nobody is admitted before noon opens."},
		{zone.ModeOpen, 0, true, false, false, "gathering, open", "Gathering", "Then all visitors are admitted at once, without the limit."},
		{zone.ModeQueue, 0, true, false, false, "gathering, paused", "Paused", "Nobody is admitted, also after noon opens."},
		{zone.ModeOpen, 0, true, true, false, "opening held", "Opening held", "Nobody is admitted until an operator moves the opening."},
	} {
		z := zone.Defaults("Z")
		z.Mode, z.PerMinute = tt.mode, tt.limit
		if tt.gathers {
			z.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: time.Now().UnixMilli()}
		}
		if tt.held {
			z.EventState.Now.OpensAtMillis = event.Never
		}
		if tt.sold {
			z.SoldOut = zone.Texts{zone.DefaultText: "Gone."}
		}
		word, sentence := change.Doing(z)
		if word != tt.word || !strings.Contains(sentence, tt.sentence) || z.State() != tt.state {
			t.Errorf("%s, %d: %q, %q, %q; want %q, %q, %q", tt.mode, tt.limit, word, sentence, z.State(), tt.word, tt.sentence, tt.state)
		}
	}
}
