package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrFixed: a list would change an event that is fixed. Every error that wraps it is, or wraps, a *FixedError.
var ErrFixed = refusal.New("operator: event is fixed", refusal.Refusal{
	Status: http.StatusConflict, Code: "event_fixed",
	Title:   "The event is fixed",
	Readers: refusal.Operators,
	Doc: "A list of `events` would change or drop an event that is [fixed](../operate/events.md#what-is-fixed). `detail` " +
		"says which command does what was wanted. Nothing was changed.",
})

// FixedError says which event a list would change, and how to do that instead. It wraps ErrFixed.
type FixedError struct{ Sentence string }

// Error returns the sentence for a log.
func (e *FixedError) Error() string { return ErrFixed.Error() + ": " + e.Sentence }

// Detail returns the sentence for the operator.
func (e *FixedError) Detail() string { return e.Sentence }

// Unwrap returns ErrFixed.
func (e *FixedError) Unwrap() error { return ErrFixed }

// adopt has settings go on with what the servers keep of the zone: its events and its revocations. It refuses a list that would
// change an event that is fixed, with a *FixedError. It refuses events that are past or in the way of that one, and a change
// after which a step of an event could not be made. A fault that the zone had before stops no change, so that a pause is possible.
func (s *Service) adopt(ctx context.Context, was, now *zone.Settings) error {
	var listed []event.Event
	now.EventState, now.InsideState, now.PilotState = event.State{}, zone.InsideState{}, zone.PilotStep{}
	if was != nil {
		listed, now.EventState, now.InsideState, now.PilotState = was.Events, was.EventState, was.InsideState, was.PilotState
	}
	if sentence := now.EventState.Refuses(now.ZoneID, now.Events); sentence != "" {
		return &FixedError{sentence}
	}
	if len(now.Events) == 0 && now.EventState.Now == nil {
		return nil
	}
	at := s.clock(ctx, now.ZoneID)
	if fault := now.EventState.ListFault(listed, now.Events, at); fault != "" {
		return &serve.InvalidError{Faults: []string{"events " + fault}}
	}
	if fault := now.StepFault(at); fault != "" && (was == nil || was.StepFault(at) != fault) {
		return &serve.InvalidError{Faults: []string{fault}}
	}
	return nil
}

// clock is the store's, as far as the zone is there to ask.
func (s *Service) clock(ctx context.Context, zoneID string) time.Time {
	if stats, err := s.Zones.Stats(ctx, zoneID); err == nil {
		return time.UnixMilli(stats.State.NowMillis)
	}
	return time.Now()
}

// Verb is what an operator does to an event that is fixed.
type Verb string

// The verbs.
const (
	// Hold has a step wait until it is moved.
	Hold Verb = "hold"
	// Move sets the time of a step, and ends its hold.
	Move Verb = "move"
	// Open opens the event as soon as may be.
	Open Verb = "open"
	// Cancel has the event not take place, or end now.
	Cancel Verb = "cancel"
)

// Act is what an operator does to an event that is fixed. Step is needed to hold and to move, To to move.
type Act struct {
	Do   Verb
	Step event.Step
	To   time.Time
}

// eventVerb is the part of a path that has the verb.
type eventVerb struct {
	Do Verb `json:"do" enum:"hold|move|open|cancel" doc:"What to do." example:"hold"`
}

// Asked is the body of an act: the step, and the time that it is to have.
type Asked struct {
	Step event.Step `yaml:"step" json:"step,omitempty" doc:"To hold and to move: which step, of those that are to come." example:"opens"`
	To   string     `yaml:"to"   json:"to,omitempty" format:"date-time" doc:"To move: when the step is to be made." example:"2026-12-01T12:30:00+01:00"`
}

// readAct reads a JSON object with step and to: a time as setting.ParseTime reads it. To open and to cancel, body may be empty.
func readAct(do Verb, body []byte) (act Act, err error) {
	var asked Asked
	if err = readFields(body, "a change of an event", &asked); err != nil {
		return act, err
	}
	act = Act{Do: do, Step: asked.Step}
	if do == Move {
		if act.To, err = setting.ParseTime(asked.To); err != nil {
			return act, &serve.FieldError{Field: "to", Reason: err.Error()}
		}
	}
	return act, nil
}

// Act holds, moves, opens or cancels an event that is fixed, as body says. It returns a *serve.FieldError or a
// *serve.InvalidError with nothing changed where that cannot be.
func (s *Service) Act(ctx context.Context, zoneID, name string, do Verb, body []byte, by audit.By) (zone.Settings, error) {
	act, err := readAct(do, body)
	if err != nil {
		return zone.Settings{}, err
	}
	return retry(func() (zone.Settings, error) {
		was, err := s.Get(ctx, zoneID)
		if err != nil {
			return zone.Settings{}, err
		}
		return s.ActFrom(ctx, was, name, act, by)
	})
}

// ActFrom is Act on a zone that the caller has seen. If it is not so any more, nothing is
// changed: it returns line.ErrZoneChanged.
func (s *Service) ActFrom(ctx context.Context, was zone.Settings, name string, act Act, by audit.By) (zone.Settings, error) {
	next, fault := act.On(was, name, s.clock(ctx, was.ZoneID))
	if fault != "" {
		return zone.Settings{}, &serve.InvalidError{Faults: []string{fault}}
	}
	if _, err := s.Zones.PutZone(ctx, next, &was, by); err != nil {
		return zone.Settings{}, fmt.Errorf("operator: change event: %w", err)
	}
	s.Logger.InfoContext(ctx, "event changed", "zone", was.ZoneID, "event", name, "do", act.Do, "step", act.Step, "by", by.Who())
	return next, nil
}

// On is the zone after the act, and changes nothing. fault is a sentence where that cannot
// be; now is on the store's clock.
func (a Act) On(was zone.Settings, name string, now time.Time) (next zone.Settings, fault string) {
	next = was
	if p := was.EventState.Now; p == nil || p.Event.Name != name {
		return was, notNow(was, name, now)
	}
	switch a.Do {
	case Hold:
		next.EventState, fault = was.EventState.Hold(a.Step, now)
	case Move:
		next.EventState, fault = was.EventState.Move(a.Step, a.To, now)
	case Open:
		next.EventState, fault = was.EventState.Open(now)
	case Cancel:
		return was.Cancel(now)
	default:
		return was, fmt.Sprintf("%q must be hold, move, open or cancel", a.Do)
	}
	if fault == "" {
		fault = next.EventState.Misses(was.Events, was.EventState, now)
	}
	return next, fault
}

// notNow says why an event that is neither next nor under way cannot be changed.
func notNow(z zone.Settings, name string, now time.Time) string {
	var names []string
	for _, e := range z.Events {
		if names = append(names, e.Name); e.Name != name {
			continue
		}
		switch p := z.EventState.Now; {
		case z.EventState.Of(e, now) == nil:
			return name + " is over, or was cancelled; list another time for it"
		case p != nil:
			return p.Event.Name + " comes before it: change the list"
		}
		return name + " was listed a moment ago: try again in a second"
	}
	if names == nil {
		return fmt.Sprintf("there is no event %q; none is listed", name)
	}
	return fmt.Sprintf("there is no event %q; listed are %s", name, strings.Join(names, ", "))
}

// Faults are what is wrong with settings that are to take the place of others; none if they may.
func (s *Service) Faults(ctx context.Context, was, now zone.Settings) []string {
	if faults := now.Faults(); len(faults) > 0 {
		return faults
	}
	var refused interface{ Detail() string }
	if err := s.adopt(ctx, &was, &now); errors.As(err, &refused) {
		return []string{refused.Detail()}
	}
	return nil
}
