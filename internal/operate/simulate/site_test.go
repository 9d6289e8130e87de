package simulate_test

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestSite: with a cap that is twice too high a site is slow all the time; with the autopilot it is within its bound for 95 % of the time, and
// does 85 % of what it can, in a zone with real sessions.
func TestSite(t *testing.T) {
	t.Parallel()
	site, err := pilot.ReadSite("8 at a time, 40 ms") // bears some 1,000 visitors inside
	if err != nil {
		t.Fatal(err)
	}
	z := zone.Defaults("Z")
	z.PerMinute, z.SessionSeconds, z.PassTTLSeconds, z.MaxInside, z.PilotMin, z.PilotMax, z.PilotP95Millis = 2_400, 60, 60, 2_000, 50, 2_000, 400
	for _, steers := range []zone.Pilot{zone.PilotOff, zone.PilotSteer} {
		z.Pilot = steers
		out, err := simulate.Run(t.Context(), simulate.Config{
			Visitors: 12_000, Arrive: time.Minute, Zone: z, Stay: 75 * time.Second, Done: 0.9, Seed: 1, Site: site,
		})
		t.Logf("%s: in bound %.3f, %.3f of the best, p95 %.0f ms, cap %d to %d, %d steps", steers, out.SiteInBound, out.SiteUsed, out.SiteP95Millis,
			out.LeastCap, out.MostCap, out.PilotSteps)
		switch {
		case err != nil:
			t.Fatal(err)
		case steers == zone.PilotOff && (out.SiteInBound > 0.1 || out.PilotSteps > 0):
			t.Error("without the autopilot the site is well")
		case steers == zone.PilotSteer && (out.SiteInBound < 0.95 || out.SiteUsed < 0.85 || out.MostCap > z.PilotMax || out.LeastCap < z.PilotMin):
			t.Error("with the autopilot the site is not")
		}
	}
}
