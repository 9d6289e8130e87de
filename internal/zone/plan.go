package zone

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
)

// Planned is a step of an event, in words.
type Planned struct {
	Event string
	// Step is "" if nothing comes of the event any more.
	Step event.Step
	// At is zero for a step that is held.
	At   time.Time
	Made bool
	// What happens then.
	What string
}

// NothingComes is said of an event that is neither under way nor to come.
const NothingComes = "nothing comes of it any more: it is over, or was cancelled"

// Plan is what the zone's events do when: each with its steps, or an entry without one.
func (s Settings) Plan(now time.Time) (all []Planned) {
	for _, e := range s.Events {
		p := s.EventState.Of(e, now)
		if p == nil {
			all = append(all, Planned{Event: e.Name, What: NothingComes})
			continue
		}
		all = append(all, s.PlanOf(p)...)
	}
	return all
}

// Obstacles are why an event would not do what its list says, in sentences; none once it has opened.
func (s Settings) Obstacles(p *event.Progress) (all []string) {
	if p.Phase != event.PhaseAnnounced && p.Phase != event.PhaseGathering {
		return nil
	}
	then := s
	if p.Phase == event.PhaseAnnounced {
		then = s.WithEvent(p.Event)
	}
	switch {
	case len(then.SoldOut) > 0:
		return []string{"It is sold out: nobody is admitted at the opening."}
	case then.Mode == ModeOpen:
		return []string{"The zone’s mode is open: at the opening everybody is admitted at once, whatever the limit."}
	case then.PerMinute == 0:
		all = append(all, "The limit is 0: nobody is admitted at the opening.")
	}
	if then.Mode == ModeClosed {
		all = append(all, "The zone is closed to newcomers: nobody can gather.")
	}
	return all
}

// PlanOf is what one event does when. Steps that there are not are left out.
func (s Settings) PlanOf(p *event.Progress) (all []Planned) {
	waits := false
	for _, step := range event.Steps {
		at, made := p.Step(step)
		if at == 0 {
			continue
		}
		one := Planned{Event: p.Event.Name, Step: step, Made: made, What: s.what(p, step)}
		if at != event.Never {
			one.At = time.UnixMilli(at)
		}
		if waits {
			one.What += "; not before the step that is held"
		}
		waits = waits || step == p.Held
		all = append(all, one)
	}
	return all
}

// what says what a step does.
func (s Settings) what(p *event.Progress, step event.Step) string {
	switch step {
	case event.StepPreQueue:
		text := "people gather, and nobody is admitted"
		if p.Order == event.OrderDraw {
			text += "; a draw gives them their places"
		}
		return text + s.with(p)
	case event.StepOpens:
		text := "they are admitted, in the order in which they came"
		if p.Order == event.OrderDraw {
			text = "they are admitted, as drawn"
		}
		if p.PreQueueAtMillis >= p.OpensAtMillis {
			text += s.with(p)
		}
		return text
	case event.StepCloses:
		return "no newcomers any more; those who wait go on"
	default:
		return "the settings from before the event hold again"
	}
}

// with are the settings of an event.
func (s Settings) with(p *event.Progress) string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(p.Event.Settings)) {
		set = append(set, fmt.Sprintf("%s=%s", name, p.Event.Settings[name]))
	}
	if len(set) == 0 {
		return ""
	}
	return ", with " + strings.Join(set, " ")
}

// OpeningHeld is the state of a zone in which people gather for an event whose opening is held.
const OpeningHeld = "opening held"

// State says in a word or two what the zone does with those who come: its mode, paused at a limit of 0, sold out, or that
// people gather.
func (s Settings) State() string {
	name, opens := s.Unopened(false)
	var words []string
	switch {
	case len(s.SoldOut) > 0:
		return "sold out"
	case name != "" && opens == 0:
		return OpeningHeld
	case name != "":
		words = append(words, "gathering")
	}
	if s.Mode != ModeQueue {
		words = append(words, string(s.Mode))
	}
	if s.PerMinute == 0 && s.Mode != ModeOpen {
		words = append(words, "paused")
	}
	if len(words) == 0 {
		return string(s.Mode)
	}
	return strings.Join(words, ", ")
}
