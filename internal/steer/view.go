package steer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// State is what the autopilot of a zone does.
type State string

// The states.
const (
	StateOff      State = "off"
	StateOn       State = "on"
	StatePaused   State = "paused"    // the zone admits nobody by the line: a pause, the mode open, an event that has not opened, a gate that observes
	StateHeld     State = "held"      // somebody else has changed the zone lately
	StateNoSignal State = "no signal" // nothing was seen of the site for NoSignalAfter
	StateStore    State = "no store"  // the store does not answer
)

// View is the autopilot of a zone, as one server knows it.
type View struct {
	ZoneID string     `json:"zoneId" minLength:"1" maxLength:"64" doc:"The zone." example:"SHOP"`
	Pilot  zone.Pilot `json:"pilot" enum:"off|advise|steer" doc:"The setting." example:"steer"`
	State  State      `json:"state" enum:"off|on|paused|held|no signal|no store" doc:"What it does. paused: the zone admits nobody by the line; held: somebody else has changed the limit, the mode or the cap, or an event made a step, less than ten minutes ago; no signal: no answer of the site was seen for 30 seconds; no store: the store does not answer. In all of these it changes nothing." example:"on"`
	// HeldUntil is 0 if it is not held.
	HeldUntil         int64            `json:"heldUntil" minimum:"0" maximum:"9007199254740991" doc:"Up to when it is held, in Unix milliseconds; 0 if it is not." example:"0"`
	MaxInside         int64            `json:"maxInside" minimum:"0" maximum:"10000000" doc:"The cap; 0 for none." example:"480"`
	PilotMin          int64            `json:"pilotMin" minimum:"1" maximum:"10000000" doc:"The setting." example:"100"`
	PilotMax          int64            `json:"pilotMax" minimum:"0" maximum:"10000000" doc:"The setting." example:"2000"`
	PilotP95Millis    int64            `json:"pilotP95Millis" minimum:"1" maximum:"60000" doc:"The setting." example:"1000"`
	PilotErrorPercent int64            `json:"pilotErrorPercent" minimum:"0" maximum:"100" doc:"The setting." example:"2"`
	Looks             []pilot.Sight    `json:"looks" maxItems:"360" doc:"What all servers saw of the site in the last hour, each ten seconds or more with 50 answers, the oldest first; as far back as this server runs."`
	Steps             []zone.PilotStep `json:"steps" maxItems:"200" doc:"The steps of the last day, the newest first."`
}

// View returns the autopilot of a zone; without its steps while the store is away.
func (s *Steer) View(ctx context.Context, is zone.Settings) (View, error) {
	v := View{
		ZoneID: is.ZoneID, Pilot: is.Pilot, State: StateOff, MaxInside: is.MaxInside,
		PilotMin: is.PilotMin, PilotMax: is.PilotMax, PilotP95Millis: is.PilotP95Millis, PilotErrorPercent: is.PilotErrorPercent,
	}
	if is.Pilot != zone.PilotOff {
		v.State = StateOn
	}
	now := s.Zones.Millis()
	s.mu.Lock()
	if z := s.zones[is.ZoneID]; z != nil {
		v.Looks = slices.Clone(z.looks)
		v.State = cmp.Or(z.state, v.State)
		if v.State == StateHeld {
			v.HeldUntil = z.heldUntil
		}
	}
	s.mu.Unlock()
	var err error
	if v.Steps, err = s.steps(ctx, is.ZoneID, now); errors.Is(err, line.ErrStoreUnavailable) {
		if v.Steps, err = []zone.PilotStep{}, nil; v.State != StateOff {
			v.State = StateStore
		}
	}
	if v.Looks == nil {
		v.Looks = []pilot.Sight{}
	}
	return v, err
}

// Sentence says what the autopilot does.
func (v View) Sentence() string {
	if v.State == StateOff {
		return "The autopilot is off (pilot: off)."
	}
	does := "It sets maxInside"
	if v.Pilot == zone.PilotAdvise {
		does = "It says what it would set, and sets nothing:"
	}
	does += fmt.Sprintf(" between %d and %d, so that 95 %% of the answers begin within %d ms and at most %d %% fail.", v.PilotMin, v.PilotMax,
		v.PilotP95Millis, v.PilotErrorPercent)
	if n := len(v.Looks); n > 0 {
		l := v.Looks[n-1]
		does += fmt.Sprintf(" Last seen: %.0f ms, %.1f %% failed, %d inside.", l.P95Millis, l.ErrorPercent, l.Inside)
	}
	switch v.State {
	case StateOff, StateOn:
	case StatePaused:
		does += " It waits: the zone admits nobody by the line."
	case StateHeld:
		does += " It waits until " + time.UnixMilli(v.HeldUntil).UTC().Format("15:04:05 UTC") + ", since somebody else has changed the zone."
	case StateNoSignal:
		does += " It waits: no answer of the site was seen for half a minute or more."
	case StateStore:
		does += " It waits: the store does not answer."
	}
	return does
}
