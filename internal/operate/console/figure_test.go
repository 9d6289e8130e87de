package console

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestState(t *testing.T) {
	t.Parallel()
	set := func(f func(*zone.Settings)) zone.Settings {
		s := zone.Defaults("Z")
		f(&s)
		return s
	}
	none := func(*zone.Settings) {}
	gathers := func(s *zone.Settings) {
		s.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: 1}
	}
	ok := watch.Sample{Store: watch.StoreOK, Waiting: 100, Released: 10, Overdue: 2, InMinute: 50, RateSeconds: 60}
	stalled := ok
	stalled.InMinute, stalled.Stalled = 0, true
	absent := ok
	absent.Waiting, absent.Overdue, absent.InMinute = 10, 10, 0
	full := ok
	full.Inside, full.MaxInside = 300, 300
	resumed := stalled
	resumed.Stalled = false
	for name, tt := range map[string]struct {
		s    zone.Settings
		now  watch.Sample
		seen bool
		want string
	}{
		"no sample":                    {set(none), watch.Sample{}, false, "No figures yet"},
		"store away":                   {set(none), watch.Sample{Store: watch.StoreFailing}, true, "Store away"},
		"paused":                       {set(func(s *zone.Settings) { s.PerMinute = 0 }), ok, true, "Paused"},
		"admitting":                    {set(none), ok, true, "Admitting"},
		"nobody":                       {set(none), watch.Sample{Store: watch.StoreOK}, true, "No line"},
		"stalled":                      {set(none), stalled, true, "Nobody comes in"},
		"only absent":                  {set(none), absent, true, "Overdue only"},
		"full inside":                  {set(none), full, true, "Full inside"},
		"resumed, or opened, just now": {set(none), resumed, true, "Admitting"},
		"open while people gather":     {set(func(s *zone.Settings) { gathers(s); s.Mode, s.PerMinute = zone.ModeOpen, 0 }), ok, true, "Gathering"},
		"closed while people gather":   {set(func(s *zone.Settings) { gathers(s); s.Mode = zone.ModeClosed }), ok, true, "Closed to newcomers"},
	} {
		got := stateOf(tt.s, tt.now, tt.seen)
		if got.Word != tt.want || got.Sign == "" || got.Sentence == "" || got.Key == "" {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
	}
}

// TestTheWaitWhilePeopleGather: none is said while the opening has no time.
func TestTheWaitWhilePeopleGather(t *testing.T) {
	t.Parallel()
	now := watch.Sample{Store: watch.StoreOK, Waiting: 100, EstimateMillis: 41_000}
	for _, tt := range []struct {
		mode   zone.Mode
		opens  int64
		wanted string
	}{
		{zone.ModeQueue, 1, "41 s, for one who joins now"},
		{zone.ModeOpen, 1, "41 s, then everybody is admitted at once"},
		{zone.ModeQueue, event.Never, "on hold, the opening has no time yet"},
		{zone.ModeOpen, event.Never, "on hold, the opening has no time yet"},
	} {
		z := zone.Defaults("Z")
		z.Mode = tt.mode
		z.EventState.Now = &event.Progress{Event: event.Event{Name: "noon"}, Phase: event.PhaseGathering, OpensAtMillis: tt.opens}
		if all := texts(z, now, true); all["estimate"]+", "+all["estimate.note"] != tt.wanted {
			t.Errorf("%s: %s, %s, want %s", tt.mode, all["estimate"], all["estimate.note"], tt.wanted)
		}
	}
}
