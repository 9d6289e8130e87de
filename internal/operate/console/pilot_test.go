package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestPilot: an operator sees what the autopilot does, and its steps, which the record of changes does not have.
func TestPilot(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("OFF")
	s := zone.Defaults("Z")
	s.MaxInside, s.Pilot, s.PilotMin, s.PilotMax = 700, zone.PilotSteer, 100, 2_000
	r.make(s, "Olga")
	at := start.UnixMilli()
	step := zone.PilotStep{AtMillis: at, From: 1_000, To: 700, Of: "maxInside", Why: "slow", P95Millis: 1_412, ErrorPercent: 0.4, Inside: 990, Ceiling: 1_000}
	text, err := json.Marshal(step)
	parts.Must(t, err)
	parts.Must(t, r.store.KeepMinutes(t.Context(), "Z~pilot", time.Hour, []store.Minute{{Minute: at / 60_000, By: "s1", Row: text}}))
	p := r.enter("Anna")
	shows(t, p.get("zones/OFF?tab=pilot"), "The autopilot is off (pilot: off).", "It has made no step in the last day.")
	shows(t, p.get("zones/Z?tab=pilot"), "It sets maxInside between 100 and 2000, so that 95 % of the answers begin within 1000 ms and at most 2 % fail.",
		"maxInside 1,000 700 slow 1412 ms 0.4 % 990")
	shows(t, p.get("zones/Z?tab=record"), "Olga")
}
