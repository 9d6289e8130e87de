package zone

import (
	"fmt"
	"reflect"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/setting"
)

// Pilot says what the autopilot does in a zone.
type Pilot string

// The kinds of autopilot.
const (
	PilotOff Pilot = "off"
	// PilotAdvise says what it would set, and sets nothing.
	PilotAdvise Pilot = "advise"
	// PilotSteer sets MaxInside.
	PilotSteer Pilot = "steer"
)

// Defaults and bounds of the autopilot.
const (
	// DefaultPilotP95Millis is how long a page may take that nobody calls slow.
	DefaultPilotP95Millis = 1_000
	maxPilotP95Millis     = 60_000
	// DefaultPilotErrorPercent is more than what fails of a shop on a good day.
	DefaultPilotErrorPercent = 2
)

// PilotWhy is why the autopilot makes a step.
type PilotWhy string

// PilotStep is a change that the autopilot makes, with the figures that led to it. The zero PilotStep is none.
type PilotStep struct {
	AtMillis int64 `json:"at,omitempty" minimum:"0" maximum:"9007199254740991" doc:"When, in Unix milliseconds on the store's clock." example:"1795223373123"`
	From     int64 `json:"from,omitempty" minimum:"0" maximum:"10000000" doc:"The setting before; 0 for no cap." example:"1000"`
	To       int64 `json:"to,omitempty" minimum:"0" maximum:"10000000" doc:"The setting after." example:"700"`
	// Of is the setting: maxInside, or perMinute, on which the autopilot only advises.
	Of  string   `json:"of,omitempty" enum:"maxInside|perMinute" doc:"The setting." example:"maxInside"`
	Why PilotWhy `json:"why,omitempty" enum:"slow|errors|failing|room|bounds" doc:"Why: the site was slow, or failed more often than the bound allows, or failed half of its answers or more; it had room; or the setting was not within pilotMin and pilotMax." example:"slow"`
	// P95Millis, ErrorPercent and Inside are those of the latest look.
	P95Millis    float64 `json:"p95Millis,omitempty" minimum:"0" doc:"In the latest ten seconds 95 % of the site's answers began within so many milliseconds." example:"412"`
	ErrorPercent float64 `json:"errorPercent,omitempty" minimum:"0" maximum:"100" doc:"How many of a hundred answers failed then." example:"0.4"`
	Inside       int64   `json:"inside,omitempty" minimum:"0" maximum:"9007199254740991" doc:"How many were inside then; for perMinute, how many had been admitted in the minute before." example:"990"`
	// Ceiling is how many were inside at the last breach; 0 if there was none.
	Ceiling int64 `json:"ceiling,omitempty" minimum:"0" maximum:"9007199254740991" doc:"How many were inside when the site was last too slow, or failed too often; 0 if it never was." example:"990"`
	// Advice says that it was not made.
	Advice bool `json:"advice,omitempty" doc:"The autopilot would have set it, and set nothing." example:"true"`
}

// String says what was set, or would have been, and why.
func (p PilotStep) String() string {
	if p.AtMillis == 0 {
		return "none"
	}
	did, from := "set", setting.Count(p.From)
	if p.Advice {
		did = "would have set"
	}
	if p.From == 0 {
		from = "none"
	}
	return fmt.Sprintf("%s %s from %s to %s at %s: %s (p95 %.0f ms, %.1f %% errors, %s inside)", did, p.Of, from, setting.Count(p.To),
		time.UnixMilli(p.AtMillis).UTC().Format("15:04:05 UTC"), p.Why, p.P95Millis, p.ErrorPercent, setting.Count(p.Inside))
}

// ByPilot is how the autopilot signs. Its steps have no entry in the record of changes: they are kept apart.
var ByPilot = audit.By{Name: "autopilot", Via: audit.ViaPilot}

func (s Settings) pilotFault() string {
	switch {
	case s.Pilot != PilotSteer:
		return ""
	case s.InsideBy != InsideBySession:
		return "steer needs insideBy session: elsewhere it can only advise"
	case s.OnStoreFailure == FailureAdmit:
		return "steer does not go with onStoreFailure admit, as maxInside does not"
	}
	return ""
}

func (s Settings) pilotMaxFault() string {
	if s.PilotMax < s.PilotMin && (s.Pilot != PilotOff || s.PilotMax > 0) {
		return fmt.Sprintf("is %d, must be pilotMin (%d) or more", s.PilotMax, s.PilotMin)
	}
	return ""
}

// SamePilot reports whether the autopilot's own settings are the same.
func (s Settings) SamePilot(was Settings) bool {
	return s.Pilot == was.Pilot && s.PilotMin == was.PilotMin && s.PilotMax == was.PilotMax && s.PilotP95Millis == was.PilotP95Millis &&
		s.PilotErrorPercent == was.PilotErrorPercent
}

// PilotHeldBy reports whether the change from was to s is one after which the autopilot waits: of the limit, the mode, the cap or an event,
// by somebody else. A change of the autopilot's own settings says that it may go on.
func (s Settings) PilotHeldBy(was Settings) bool {
	is, before := s.InForce(), was.InForce()
	return s.SamePilot(was) && (is.PerMinute != before.PerMinute || is.Mode != before.Mode || s.SiteGate != was.SiteGate ||
		!reflect.DeepEqual(s.EventState, was.EventState) ||
		s.MaxInside != was.MaxInside && (s.PilotState.AtMillis == was.PilotState.AtMillis || s.MaxInside != s.PilotState.To)) // after a step, too
}
