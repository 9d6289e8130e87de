package zone_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestCheckBy(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"", "ada", "Ada Lovelace <ada@example.org>", "Jürgen", "川口", "👩\u200d🚒", strings.Repeat("é", 32), "a\u00a0b",
	} {
		if err := zone.CheckBy(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		strings.Repeat("a", 65):       "64 bytes",
		strings.Repeat("é", 32) + "a": "64 bytes",
		"\xff":                        "UTF-8",
		"Jürgen"[:2]:                  "UTF-8",
		"a\nb":                        "control",
		"a\tb":                        "control",
		"\x00":                        "control",
		"\x7f":                        "control",
		"\u0085":                      "control",
		"ada\u202egro.elpmaxe":        "control", // reads from right to left
		"ada\u2028bob":                "control", // a new line
	} {
		if err := zone.CheckBy(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %s", bad, err, want)
		}
	}
}

func TestNewestFirst(t *testing.T) {
	t.Parallel()
	record := func(zoneID string, at ...int64) []zone.Change {
		all := make([]zone.Change, len(at))
		for i, millis := range at {
			all[i] = zone.Change{AtMillis: millis, ZoneID: zoneID}
		}
		return all
	}
	tests := map[string]struct {
		records [][]zone.Change
		want    string
	}{
		"none":     {nil, ""},
		"nothing":  {[][]zone.Change{nil, nil}, ""},
		"one zone": {[][]zone.Change{record("a", 3, 2, 1)}, "a3 a2 a1"},
		"two":      {[][]zone.Change{record("a", 9, 5, 1), record("b", 7, 5)}, "a9 b7 a5 b5 a1"},
		// The clock was at 20 once, then set back; a6 came last all the same.
		"the clock was set back": {[][]zone.Change{record("a", 6, 20, 4), record("b", 7, 5)}, "b7 a6 a20 b5 a4"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range zone.NewestFirst(tt.records...) {
				got = append(got, fmt.Sprintf("%s%d", c.ZoneID, c.AtMillis))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

func TestNewestFirstIsBounded(t *testing.T) {
	t.Parallel()
	var records [][]zone.Change
	for z := range 7 {
		one := make([]zone.Change, zone.MaxChanges)
		for i := range one {
			one[i].AtMillis = int64(7*(zone.MaxChanges-i) + z)
		}
		records = append(records, one)
	}
	got := zone.NewestFirst(records...)
	sorted := slices.IsSortedFunc(got, func(a, b zone.Change) int { return int(b.AtMillis - a.AtMillis) })
	if len(got) != zone.MaxChanges || got[0].AtMillis != 7*zone.MaxChanges+6 || !sorted {
		t.Errorf("%d, from %+v, sorted %t", len(got), got[0], sorted)
	}
}

// TestChangeAsJSON: what made and deleted a zone says so with null.
func TestChangeAsJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(zone.Change{AtMillis: 1, ZoneID: "z", By: audit.By{Name: "ada"}})
	if want := `{"at":1,"zoneId":"z","by":"ada","was":null,"now":null}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

// TestSteeredDuringAnEvent: the cap that the autopilot has set during an event ends with it. One that somebody has set stays.
func TestSteeredDuringAnEvent(t *testing.T) {
	t.Parallel()
	noon := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		sets       event.Values
		caps, want int64
	}{
		"a cap and the autopilot": {event.Values{"pilot": "steer", "pilotMax": "2000", "maxInside": "1000"}, 700, 50},
		"the autopilot alone":     {event.Values{"pilot": "steer", "pilotMax": "2000"}, 700, 50},
		"a cap":                   {event.Values{"maxInside": "1000"}, 700, 50},
		"by somebody":             {event.Values{"pilot": "steer", "pilotMax": "2000"}, 600, 600},
	} {
		s := zone.Defaults("Z")
		s.MaxInside = 50
		s.Events = []event.Event{{Name: "noon", OpensAt: noon.Format(time.RFC3339), EndsAt: noon.Add(time.Hour).Format(time.RFC3339), Settings: tt.sets}}
		steps := func(at time.Time) {
			for next, _, due := s.Due(at, nil); due; next, _, due = s.Due(at, nil) {
				s = next
			}
		}
		steps(noon.Add(-time.Minute))
		steps(noon)
		s.MaxInside, s.PilotState = tt.caps, zone.PilotStep{AtMillis: noon.UnixMilli(), To: 700, Of: "maxInside"}
		steps(noon.Add(2 * time.Hour))
		if s.EventState.Now != nil || s.MaxInside != tt.want || s.Pilot != zone.PilotOff {
			t.Errorf("%s: after the event the cap is %d, want %d; %+v", name, s.MaxInside, tt.want, s)
		}
	}
}

// TestPausedFrom: the limit of an event is none to go back to once the event is over.
func TestPausedFrom(t *testing.T) {
	t.Parallel()
	noon := time.Unix(1_800_000_000, 0)
	resumes := func(now zone.Settings, record []zone.Settings) int64 {
		for i := len(record) - 1; i > 0; i-- {
			if limit := now.PausedFrom(&record[i-1], &record[i]); limit > 0 {
				return limit
			}
		}
		return 0
	}
	// play has the steps up to a time made, and returns all that the zone was, the oldest first.
	play := func(record []zone.Settings, at time.Time) []zone.Settings {
		for {
			next, _, due := record[len(record)-1].Due(at, nil)
			if !due {
				return record
			}
			record = append(record, next)
		}
	}
	paused := func(record []zone.Settings) []zone.Settings {
		next := record[len(record)-1]
		next.PerMinute = 0
		return append(record, next)
	}
	usual := zone.Defaults("Z")
	usual.Events = []event.Event{{
		Name: "noon", OpensAt: noon.Format(time.RFC3339), EndsAt: noon.Add(time.Hour).Format(time.RFC3339), Settings: event.Values{"perMinute": "6000"},
	}}
	begin := func(record []zone.Settings) []zone.Settings { return play(play(record, noon.Add(-time.Minute)), noon) }
	after := noon.Add(2 * time.Hour)
	for name, tt := range map[string]struct {
		record []zone.Settings
		want   int64
	}{
		"before it":                               {play(paused(begin([]zone.Settings{usual})[:1]), noon.Add(-time.Minute)), 600},
		"before it, and it is over":               {play(begin(paused([]zone.Settings{usual})), after), 600},
		"during it":                               {paused(begin([]zone.Settings{usual})), 6000},
		"during it, and it is over":               {play(paused(begin([]zone.Settings{usual})), after), 600},
		"before it and during it, and it is over": {play(paused(begin(paused([]zone.Settings{usual}))), after), 600},
		"never": {play([]zone.Settings{usual}, after), 0},
	} {
		now := tt.record[len(tt.record)-1]
		if got := resumes(now, tt.record); got != tt.want || tt.want > 0 && now.PerMinute != 0 {
			t.Errorf("paused %s: resumes at %d, want %d: %v", name, got, tt.want, now)
		}
	}
}
