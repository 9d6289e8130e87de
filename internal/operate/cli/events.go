package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// events is queue-server events.
func (c *connection) events() *cobra.Command {
	const steps = "preQueue, opens, closes or ends"
	step := func(use, short string, how operator.StepChange) *cobra.Command {
		return c.command(use, short, func(ctx context.Context, s *session, args []string) error {
			to := ""
			if how == operator.StepMove {
				to = args[3]
				if _, err := time.Parse(time.RFC3339, to); err != nil {
					return Usage("%q is no time; write one as 2026-12-01T12:00:00+01:00", to)
				}
			}
			reply, err := s.Step(ctx, args[0], args[1], args[2], how, to)
			if err != nil || s.json {
				return s.printReply(reply.JSON, s.aboutZone(ctx, args[0], err))
			}
			if err := s.printEvents(reply.Value, time.Now()); err != nil {
				return err
			}
			if how == operator.StepSkip && event.Step(args[2]) == event.StepOpens {
				s.say("%s does not take place this time. %s", args[1], effect(reply.Value))
			}
			return nil
		})
	}
	return group("events", "Look at the events of a zone, hold, move or skip a step, and check a draw.",
		c.command("list ZONE", "The events of a zone, and what comes when.", func(ctx context.Context, s *session, args []string) error {
			reply, err := s.Zone(ctx, args[0])
			if err != nil || s.json {
				return s.printReply(reply.JSON, s.aboutZone(ctx, args[0], err))
			}
			return s.printEvents(reply.Value, time.Now())
		}),
		step("hold ZONE EVENT STEP", "Have a step wait until it is moved: "+steps+".", operator.StepHold),
		step("move ZONE EVENT STEP TIME", "Have a step be made at a time to come; one that was held, too.", operator.StepMove),
		step("skip ZONE EVENT STEP", "Have a step not be made. Without opens, the event does not take place this time. A step that was skipped comes back only with the event listed anew, at another time.", operator.StepSkip),
		verifyEvent(c.Terminal),
	)
}

// printEvents prints the events of a zone, and why the one that is next would not do what its list says.
func (s *session) printEvents(z zone.Settings, now time.Time) error {
	if err := s.print(eventTable(z, now)); err != nil || z.EventState.Now == nil {
		return err
	}
	for _, text := range z.Obstacles(z.EventState.Now) {
		s.say("BUT %s: %s", z.EventState.Now.Event.Name, text)
	}
	return nil
}

// eventTable is the events of a zone, a step a line.
func eventTable(z zone.Settings, now time.Time) *table {
	t := &table{columns: []column{{title: "EVENT"}, {title: "STEP"}, {title: "WHEN"}, {title: "WHAT"}}}
	for _, one := range z.Plan(now) {
		state := one.What
		if one.Made {
			state += " (done)"
		}
		t.add(one.Event, string(one.Step), when(&one, time.RFC3339), state)
	}
	if len(z.Events) == 0 {
		t.add("none", "", "", "")
	}
	return t
}

// when is the time of a step, in UTC.
func when(p *zone.Planned, layout string) string {
	switch {
	case p.Step == "":
		return ""
	case p.At.IsZero():
		return "held"
	}
	return p.At.UTC().Format(layout)
}

// inWords is the layout of a time, in UTC, in a sentence.
const inWords = "Mon 2 Jan 2006 15:04:05 UTC"

// eventLines say in words what a change of the list will have happen when.
func eventLines(was *zone.Settings, z zone.Settings, now time.Time) (lines []string) {
	for _, one := range z.Listed(now).Plan(now) {
		if one.Made {
			continue
		}
		at := cmp.Or(when(&one, inWords), "never")
		if one.Step != "" && one.At.IsZero() {
			at = string(one.Step) + " is held"
		}
		lines = append(lines, at+": "+one.Event+": "+one.What)
	}
	state := z.Listed(now).EventState
	for _, e := range z.Events {
		p := state.Of(e, now)
		if p == nil || p != state.Now && state.Now != nil && state.Now.Before != nil { // the settings will be others by then
			continue
		}
		for _, text := range z.Obstacles(p) {
			lines = append(lines, "BUT "+e.Name+": "+text)
		}
	}
	if was == nil {
		return lines
	}
	if p := state.Now; p != nil {
		lines = append(lines, changedSteps(p)...)
	}
	for _, e := range was.Events {
		if slices.ContainsFunc(z.Events, func(o event.Event) bool { return o.Name == e.Name }) {
			continue
		}
		switch p := was.EventState.Of(e, now); {
		case p == nil: // it is over
		case p.Phase == event.PhaseAnnounced:
			lines = append(lines, e.Name+" does not take place")
		default:
			lines = append(lines, e.Name+" is under way, and ends now. "+effect(z.Listed(now)))
		}
	}
	return lines
}

// changedSteps say which steps were skipped, or will be made at another time than that of the list.
func changedSteps(p *event.Progress) (lines []string) {
	for _, step := range event.Steps {
		at, made := p.Step(step)
		switch listed := p.ListedAt(step); {
		case made, listed == 0, at == listed, at == event.Never:
		case at == 0:
			lines = append(lines, fmt.Sprintf("%s: %s was skipped", p.Event.Name, step))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s was moved; listed is %s", p.Event.Name, step, time.UnixMilli(listed).UTC().Format(inWords)))
		}
	}
	return lines
}
