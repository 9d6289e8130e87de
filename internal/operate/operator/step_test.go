package operator_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestStepOfAnEventThatIsNotNext: each reason has its own sentence.
func TestStepOfAnEventThatIsNotNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 6, 1, 9, 0, 0, 0, time.UTC)
	none, listed := zone.Defaults("Z"), zone.Defaults("Z")
	listed.Events = []event.Event{
		{Name: "dawn", OpensAt: "2030-06-01T06:00:00Z"}, {Name: "noon", OpensAt: "2030-06-01T12:00:00Z"}, {Name: "eve", OpensAt: "2030-06-01T18:00:00Z"},
	}
	announced := listed
	announced.EventState, _ = event.State{}.Announce(listed.Events, now, nil)
	for _, tt := range []struct {
		zone       zone.Settings
		name, want string
	}{
		{none, "noon", `there is no event "noon"; none is listed`},
		{listed, "non", `there is no event "non"; listed are dawn, noon, eve`},
		{listed, "noon", "noon was listed a moment ago: try again in a second"},
		{announced, "dawn", "dawn is over, or was skipped; list another time for it"},
		{announced, "eve", "noon comes before it"},
		{announced, "noon", ""},
	} {
		if _, fault := operator.Stepped(tt.zone, tt.name, event.StepOpens, operator.StepHold, time.Time{}, now); fault != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, fault, tt.want)
		}
	}
}
