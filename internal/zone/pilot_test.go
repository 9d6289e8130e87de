package zone_test

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

func TestPilotFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*zone.Settings)
		want string
	}{
		"good":             {func(*zone.Settings) {}, ""},
		"no most":          {func(s *zone.Settings) { s.PilotMax = 0 }, "pilotMax is 0, must be pilotMin (10) or more"},
		"not counted":      {func(s *zone.Settings) { s.InsideBy = zone.InsideByAdmission }, "pilot steer needs insideBy session: elsewhere it can only advise"},
		"admits by itself": {func(s *zone.Settings) { s.OnStoreFailure = zone.FailureAdmit }, "pilot steer does not go with onStoreFailure admit, as maxInside does not"},
		"advises":          {func(s *zone.Settings) { s.Pilot, s.InsideBy = zone.PilotAdvise, zone.InsideByAdmission }, ""},
	} {
		s := zone.Defaults("Z")
		s.Pilot, s.PilotMin, s.PilotMax = zone.PilotSteer, 10, 100
		tt.set(&s)
		got := ""
		if faults := s.Faults(); len(faults) > 0 {
			got = faults[0]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
