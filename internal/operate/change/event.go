package change

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Labels name the steps of an event in a list, Nouns in a sentence.
var (
	Labels = map[event.Step]string{
		event.StepPreQueue: "People gather", event.StepOpens: "It opens", event.StepCloses: "No newcomers", event.StepEnds: "It ends",
	}
	Nouns = map[event.Step]string{
		event.StepPreQueue: "the gathering", event.StepOpens: "the opening", event.StepCloses: "the closing", event.StepEnds: "the end",
	}
)

// EventFields are what can be set of an event besides its name, as forms and words have them. What may be in them,
// package event checks.
var EventFields = setting.Table[event.Event]{
	{Name: "preQueueAt", At: func(e *event.Event) any { return &e.PreQueueAt }, Time: true, Label: "People gather from", Hint: "Without, nobody gathers."},
	{Name: "opensAt", At: func(e *event.Event) any { return &e.OpensAt }, Time: true, Label: "It opens", Hint: "From then on people are admitted."},
	{Name: "closesAt", At: func(e *event.Event) any { return &e.ClosesAt }, Time: true, Label: "No newcomers from", Hint: "Without, newcomers are taken to the end."},
	{Name: "endsAt", At: func(e *event.Event) any { return &e.EndsAt }, Time: true, Label: "It ends", Hint: "Then the settings from before the event hold again. Without an end, they stay."},
	{
		Name: "order", At: func(e *event.Event) any { return (*string)(&e.Order) },
		Choices: []setting.Choice{{Value: "", Label: "as they came"}, {Value: string(event.OrderArrival), Label: "as they came: arrival"}, {Value: string(event.OrderDraw), Label: "drawn"}},
		Label:   "Order of those who gathered", Hint: "Drawn: each visitor who gathered gets a random place, which anybody can verify.",
	},
	{
		Name: "drawClosesSeconds", At: func(e *event.Event) any { return &e.DrawClosesSeconds }, Default: int64(0), Most: 3_600, Unit: "s",
		None: "30 s", Label: "Places are fixed, seconds before", Hint: "25 to 3,600; 0 is 30. Visitors who join later stand behind.",
	},
	{
		Name: "settings", At: func(e *event.Event) any { return &e.Settings }, Of: "settings by their names", Label: "Settings that hold during it",
		Say: func(e event.Event) string {
			return joined(slices.Sorted(maps.Keys(e.Settings)), "\n", func(name string) string { return name + "=" + e.Settings[name] })
		},
	},
	{Name: "textBefore", At: func(e *event.Event) any { return (*setting.Texts)(&e.Texts.Before) }, MaxLength: event.MaxTextLength, Label: "Text before the opening", Hint: "For visitors who come before the opening." + languages},
	{Name: "textDuring", At: func(e *event.Event) any { return (*setting.Texts)(&e.Texts.During) }, MaxLength: event.MaxTextLength, Label: "Text while it is open", Hint: "For visitors who wait while it is open."},
	{Name: "textAfter", At: func(e *event.Event) any { return (*setting.Texts)(&e.Texts.After) }, MaxLength: event.MaxTextLength, Label: "Text after it", Hint: "For visitors who come after the end."},
}

const languages = " Below, a line for each other language: de: Um zwölf geht es los."

func eventsByName(list []event.Event) map[string]event.Event {
	all := make(map[string]event.Event, len(list))
	for _, e := range list {
		all[e.Name] = e
	}
	return all
}

// Events puts what differs in a list of events, and in how far they are, in place of the two settings, event by event.
func Events(was, now zone.Settings, all []Difference) (out []Difference) {
	for _, d := range all {
		switch d.Name {
		case "events":
			out = append(out, eventDifferences(was.Events, now.Events)...)
		case "eventState":
			if state := stateDifferences(was.EventState.Now, now.EventState.Now); len(state) > 0 {
				out = append(out, state...)
				continue
			}
			fallthrough // what is remembered of events that are over
		default:
			out = append(out, d)
		}
	}
	return out
}

// stateDifferences are what is not the same in how far two events are; either may be nil.
func stateDifferences(was, now *event.Progress) (all []Difference) {
	phase := func(p *event.Progress) string {
		if !p.Fixed {
			return "listed"
		}
		return string(p.Phase)
	}
	if was == nil || now == nil || was.Event.Name != now.Event.Name {
		if was != nil {
			all = append(all, inWords(was.Event.Name, "Event "+was.Event.Name, phase(was), "over"))
		}
		if now != nil {
			all = append(all, inWords(now.Event.Name, "Event "+now.Event.Name, "none", phase(now)))
		}
		return all
	}
	name := now.Event.Name
	if phase(was) != phase(now) {
		all = append(all, inWords(name, "Event "+name, phase(was), phase(now)))
	}
	for _, step := range event.Steps {
		before, _ := was.Step(step)
		if after, _ := now.Step(step); before != after {
			all = append(all, inWords(name+"."+string(step), name+", "+lower(Labels[step]), timeWord(before), timeWord(after)))
		}
	}
	return all
}

func inWords(name, label, was, now string) Difference {
	return Difference{Name: name, Label: label, Was: was, Now: now, WasText: was, NowText: now}
}

// timeWord is when a step is, in Unix milliseconds.
func timeWord(at int64) string {
	switch at {
	case 0:
		return "none"
	case event.Never:
		return "held"
	}
	return time.UnixMilli(at).UTC().Format(time.RFC3339)
}

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// eventDifferences are what is not the same in two lists, by event and field.
func eventDifferences(was, now []event.Event) (all []Difference) {
	before, after := eventsByName(was), eventsByName(now)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, listed := before[name]
		a, stays := after[name]
		switch {
		case !listed:
			all = append(all, inWords(name, "Event "+name, "none", "opens "+a.OpensAt))
		case !stays:
			all = append(all, inWords(name, "Event "+name, "opens "+b.OpensAt, "none"))
		default:
			for _, d := range Differences(EventFields, b, a) {
				d.Name, d.Label = name+"."+d.Name, name+", "+lower(d.Label)
				all = append(all, d)
			}
		}
	}
	return all
}

// List says what another list of events does. Zone says it, too.
func List(was, now zone.Settings, at time.Time) Says {
	var s Says
	before, after := eventsByName(was.Events), eventsByName(now.Events)
	for _, e := range was.Events {
		if _, stays := after[e.Name]; stays {
			continue
		}
		if was.EventState.Of(e, at) != nil { // else it is over
			s.Warn("%s does not take place.", e.Name)
		}
	}
	for _, e := range now.Events {
		if b, listed := before[e.Name]; listed && len(EventFields.Differences(b, e)) == 0 {
			continue
		}
		p := now.EventState.Of(e, at)
		if p == nil {
			s.Warn("%s: %s.", e.Name, zone.NothingComes)
			continue
		}
		for _, one := range now.PlanOf(p) {
			switch {
			case one.Made:
			case one.At.IsZero():
				s.Add("%s: %s, once somebody moves %s, which is held.", e.Name, one.What, Nouns[one.Step])
			default:
				s = append(s, Say{At: one.At, Full: true, Tail: ": " + e.Name + ": " + one.What + "."})
			}
		}
		for _, text := range now.Obstacles(p) {
			s.Warn("%s: %s", e.Name, text)
		}
	}
	return s
}

// Event says what becomes of the event that is fixed: that it is cancelled, or of its steps that are held or have
// another time.
func Event(was, now zone.Settings, line Line, at time.Time) (s Says) {
	p, after := was.EventState.Now, now.EventState.Now
	switch {
	case p == nil || !p.Fixed:
		return nil
	case after == nil || after.Event.Name != p.Event.Name:
		s.cancelled(p, now, line)
		return s
	}
	for _, step := range event.Steps {
		before, _ := p.Step(step)
		switch then, _ := after.Step(step); then {
		case before:
		case event.Never:
			s.held(p, step, line, at)
		default:
			s.moved(step, before, then, at)
		}
	}
	switch {
	case after.SettlesAtMillis == p.SettlesAtMillis || after.SettlesAtMillis == event.Never:
	case after.SettlesAtMillis > at.UnixMilli():
		s = append(s, Say{Text: SettlesLabel(p) + " at", At: time.UnixMilli(after.SettlesAtMillis), Full: true, Tail: "."})
	}
	if len(s) > 0 && (after.OpensAtMillis != p.OpensAtMillis || after.PreQueueAtMillis != p.PreQueueAtMillis) && after.ClosesAtMillis+after.EndsAtMillis > 0 {
		s.Add("The later steps keep their times. Check these, too.")
	}
	return s
}

// SettlesLabel names the moment at which places are fixed, which goes with the opening.
func SettlesLabel(p *event.Progress) string {
	if p.Order == event.OrderDraw {
		return "The draw closes"
	}
	return "Places are fixed"
}

func (s *Says) cancelled(p *event.Progress, now zone.Settings, line Line) {
	if p.Phase == event.PhaseOpen || p.Phase == event.PhaseClosed {
		s.Warn("%s is under way, and ends now. The settings from before the event hold again.", p.Event.Name)
	} else {
		s.Warn("%s does not take place.", p.Event.Name)
	}
	if p.Phase != event.PhaseGathering {
		return
	}
	switch force := now.InForce(); {
	case force.Mode == zone.ModeOpen:
		s.Warn("Visitors who wait (%s) are admitted from now on, without the limit. To keep them waiting, hold the opening instead.", line.words())
	case force.PerMinute == 0:
		s.Add("Visitors who wait (%s) keep their places. The limit is 0, so nobody is admitted.", line.words())
	default:
		s.Warn("Visitors who wait (%s) are admitted from now on, at %s a minute. To keep them waiting, hold the opening instead.", line.words(), count(now.PerMinute))
	}
	if p.Order == event.OrderDraw {
		s.Add("They keep the order of the draw.")
	}
}

func (s *Says) held(p *event.Progress, step event.Step, line Line, at time.Time) {
	switch step {
	case event.StepOpens:
		s.Warn("Nobody is admitted until an operator moves the opening. Visitors who wait (%s) keep their places, and read that the opening has no time yet.", line.words())
		if p.Phase == event.PhaseGathering && p.SettlesAtMillis <= at.UnixMilli() {
			s.Add("Places are fixed: each visitor keeps the number, and newcomers stand behind.")
		}
	case event.StepPreQueue:
		s.Warn("Nobody gathers, and the event does not open, until an operator moves the gathering. Until then the zone admits visitors at its limit.")
	case event.StepCloses:
		s.Add("Newcomers get places until an operator moves the closing.")
	case event.StepEnds:
		s.Add("The settings of the event hold until an operator moves the end.")
	}
}

// moved says when a step is, which was to be before, or was held.
func (s *Says) moved(step event.Step, before, then int64, at time.Time) {
	one := Say{Text: Labels[step] + " at", At: time.UnixMilli(then), Full: true, Tail: ", in " + Until(time.UnixMilli(then).Sub(at)) + "."}
	if before != event.Never && before != 0 {
		by, how := time.Duration(then-before)*time.Millisecond, "later"
		if by < 0 {
			by, how = -by, "earlier"
		}
		one.Tail = ", in " + Until(time.UnixMilli(then).Sub(at)) + ": " + Until(by) + " " + how + " than now."
	}
	*s = append(*s, one)
}
