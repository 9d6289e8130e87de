package cli

import (
	"context"
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
				s.say("%s does not take place this time. %s", args[1], doing(reply.Value))
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
