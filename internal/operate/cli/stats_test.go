package cli

import (
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestStatsTellARange, where one is known.
func TestStatsTellARange(t *testing.T) {
	t.Parallel()
	s := &adminclient.Stats{ZoneID: "SALE", Mode: zone.ModeQueue, PerMinute: 600, EstimatedWait: 300_000}
	const want = "expected wait; 4 min to 6 min 20 s four times of five"
	if got := statsText(s); strings.Contains(got, "five") {
		t.Errorf("without a range: %s", got)
	}
	s.EstimatedWaitRange = &operator.Range{Low: 240_000, High: 380_000}
	if got := statsText(s); !strings.Contains(got, want) {
		t.Errorf("%s\ndoes not have %q", got, want)
	}
}

// TestStatsOfOpenZone: nothing is limited, so nothing is said to be in use.
func TestStatsOfOpenZone(t *testing.T) {
	t.Parallel()
	s := &adminclient.Stats{ZoneID: "SALE", Mode: zone.ModeQueue, PerMinute: 600, WindowLimit: 60, WindowUse: 1, AdmittedInWindow: 75, SecondLimit: 13}
	for _, limit := range []string{"of 60, 100 % in use", "of 600", "at most 13"} {
		s.Mode = zone.ModeQueue
		if got := statsText(s); !strings.Contains(got, limit) {
			t.Errorf("%s\ndoes not have %q", got, limit)
		}
		s.Mode = zone.ModeOpen
		if got := statsText(s); strings.Contains(got, limit) || !strings.Contains(got, "75") {
			t.Errorf("open, with %q: %s", limit, got)
		}
	}
}

// TestStatsOfPausedZone: it admits nobody, so no limit of its window is there to be passed, and no wait is expected.
func TestStatsOfPausedZone(t *testing.T) {
	t.Parallel()
	s := adminclient.Stats{
		ZoneID: "SALE", Mode: zone.ModeQueue, WindowLimit: 1, WindowUse: 1, AdmittedInWindow: 30, AdmittedInMinute: 646,
		SecondLimit: 1, EstimatedWait: 193_000,
	}
	row := strings.Join(watchRow(&s), " ")
	for said, of := range map[string]string{statsText(&s): "on hold", row: "30/0 646/0 - on hold"} {
		if !strings.Contains(said, of) {
			t.Errorf("%s\ndoes not have %q", said, of)
		}
		for _, wrong := range []string{"of 1", "30/1", "100 %", "3 min", "at most 1"} {
			if strings.Contains(said, wrong) {
				t.Errorf("%s\nhas %q", said, wrong)
			}
		}
	}
}

// TestStatsWhilePeopleGather: that they do is said, and no wait while the opening has no time.
func TestStatsWhilePeopleGather(t *testing.T) {
	t.Parallel()
	s := adminclient.Stats{ZoneID: "SALE", Mode: zone.ModeQueue, PerMinute: 600, EstimatedWait: 41_000}
	for state, want := range map[string][2]string{"": {"queue", "41 s"}, "gathering": {"gathering", "41 s"}, "sold out": {"sold out", "41 s"}, zone.OpeningHeld: {zone.OpeningHeld, "on hold"}} {
		s.State = state
		row := watchRow(&s)
		if text := statsText(&s); row[1] != want[0] || row[6] != want[1] || !strings.HasPrefix(text, "SALE: "+want[0]+"\n") || !strings.Contains(text, want[1]) {
			t.Errorf("%s: %q\n%s", state, row, text)
		}
	}
}
