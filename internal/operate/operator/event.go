package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// withEvents is was or, where that is nil, the zone if it has events: what is set
// unconditionally must not end one of them.
func (s *Service) withEvents(ctx context.Context, zoneID string, was *zone.Settings) (*zone.Settings, error) {
	if was != nil {
		return was, nil
	}
	is, err := s.find(ctx, zoneID)
	if is != nil && is.EventState.IsZero() {
		is = nil
	}
	return is, err
}

// adopt has settings go on with the event that is under way, and refuses new events that
// are past, or in the way of others.
func (s *Service) adopt(ctx context.Context, was, now *zone.Settings) error {
	var listed []event.Event
	now.EventState = event.State{}
	if was != nil {
		listed, now.EventState = was.Events, was.EventState
	}
	if len(now.Events) == 0 {
		return nil
	}
	if fault := event.ChangeFault(listed, now.Events, s.clock(ctx, now.ZoneID)); fault != "" {
		return &serve.InvalidError{Faults: []string{"events " + fault}}
	}
	return nil
}

// clock is the store's, as far as the zone is there to ask.
func (s *Service) clock(ctx context.Context, zoneID string) time.Time {
	if stats, err := s.store.Stats(ctx, zoneID); err == nil {
		return time.UnixMilli(stats.State.NowMillis)
	}
	return time.Now()
}

// StepChange is what an operator does to a step.
type StepChange string

// What there is to do.
const (
	StepHold StepChange = "hold"
	StepMove StepChange = "move"
	StepSkip StepChange = "skip"
)

// ReadStep is Step, of a JSON object with do and, to move, to: a time as RFC 3339 has it.
func (s *Service) ReadStep(ctx context.Context, zoneID, name string, step event.Step, body []byte, by string) (zone.Settings, error) {
	var asked struct {
		Do string `yaml:"do"`
		To string `yaml:"to"`
	}
	n, err := strictyaml.Object(body)
	if err != nil {
		return zone.Settings{}, &serve.FieldError{Field: serve.BodyField, Reason: err.Error()}
	}
	var r strictyaml.Reader
	r.Struct(n, "a step", &asked)
	if len(r.Faults) > 0 {
		return zone.Settings{}, &serve.InvalidError{Faults: []string{r.Faults[0].Text}}
	}
	var to time.Time
	if asked.Do == string(StepMove) {
		if to, err = time.Parse(time.RFC3339, asked.To); err != nil {
			return zone.Settings{}, &serve.FieldError{Field: "to", Reason: "must be a time as 2026-12-01T12:00:00+01:00"}
		}
	}
	return s.Step(ctx, zoneID, name, step, StepChange(asked.Do), to, by)
}

// Step holds, moves or skips a step of the event that is next or under way; to is when a
// moved one is to be made. It returns a *serve.InvalidError with nothing changed where
// that cannot be.
func (s *Service) Step(ctx context.Context, zoneID, name string, step event.Step, how StepChange, to time.Time, by string) (zone.Settings, error) {
	for range maxTries {
		was, err := s.Get(ctx, zoneID)
		if err != nil {
			return zone.Settings{}, err
		}
		next, err := s.StepFrom(ctx, was, name, step, how, to, by)
		if !errors.Is(err, line.ErrZoneChanged) {
			return next, err
		}
	}
	return zone.Settings{}, ErrConflict
}

// StepFrom is Step of a zone that the caller has seen. If it is not so any more, nothing is
// changed: it returns line.ErrZoneChanged.
func (s *Service) StepFrom(ctx context.Context, was zone.Settings, name string, step event.Step, how StepChange, to time.Time, by string) (zone.Settings, error) {
	next, fault := Stepped(was, name, step, how, to, s.clock(ctx, was.ZoneID))
	if fault != "" {
		return zone.Settings{}, &serve.InvalidError{Faults: []string{fault}}
	}
	if _, err := s.store.PutZone(ctx, next, &was, by); err != nil {
		return zone.Settings{}, fmt.Errorf("operator: change step: %w", err)
	}
	s.log.InfoContext(ctx, "event step changed", "zone", was.ZoneID, "event", name, "step", step, "how", how, "by", by)
	return next, nil
}

// Stepped is the zone after Step, and changes nothing. fault is a sentence where that cannot
// be; now is on the store's clock.
func Stepped(was zone.Settings, name string, step event.Step, how StepChange, to, now time.Time) (next zone.Settings, fault string) {
	next = was
	if p := was.EventState.Now; p == nil || p.Event.Name != name {
		return was, notNow(was, name, now)
	}
	switch how {
	case StepHold:
		next.EventState, fault = was.EventState.Hold(step, now)
	case StepMove:
		if next.EventState, fault = was.EventState.Move(step, to, now); fault == "" {
			fault = next.EventState.Misses(was.Events, was.EventState, now)
		}
	case StepSkip:
		next, fault = was.Skip(step, now)
	default:
		fault = fmt.Sprintf("do %q must be hold, move or skip", how)
	}
	return next, fault
}

// notNow says why no step of an event that is neither next nor under way can be changed.
func notNow(z zone.Settings, name string, now time.Time) string {
	var names []string
	for _, e := range z.Events {
		if names = append(names, e.Name); e.Name != name {
			continue
		}
		switch p := z.EventState.Now; {
		case z.EventState.Of(e, now) == nil:
			return name + " is over, or was skipped; list another time for it"
		case p != nil:
			return p.Event.Name + " comes before it"
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
	if invalid, refused := errors.AsType[*serve.InvalidError](s.adopt(ctx, &was, &now)); refused {
		return invalid.Faults
	}
	return nil
}
