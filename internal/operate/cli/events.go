package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

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
			return s.print(eventTable(reply.Value))
		})
	}
	return group("events", "Look at the events of a zone, hold, move or skip a step, and check a draw.",
		c.command("list ZONE", "The events of a zone, and what comes when.", func(ctx context.Context, s *session, args []string) error {
			reply, err := s.Zone(ctx, args[0])
			if err != nil || s.json {
				return s.printReply(reply.JSON, s.aboutZone(ctx, args[0], err))
			}
			return s.print(eventTable(reply.Value))
		}),
		step("hold ZONE EVENT STEP", "Have a step wait until it is moved: "+steps+".", operator.StepHold),
		step("move ZONE EVENT STEP TIME", "Have a step be made at a time to come; one that was held, too.", operator.StepMove),
		step("skip ZONE EVENT STEP", "Have a step not be made. Without opens, the event does not take place this time.", operator.StepSkip),
		verifyEvent(c.Terminal),
	)
}

// eventTable is the events of a zone, a step a line.
func eventTable(z zone.Settings) *table {
	t := &table{columns: []column{{title: "EVENT"}, {title: "STEP"}, {title: "WHEN"}, {title: "WHAT"}}}
	for _, one := range z.Plan() {
		at := "held"
		if !one.At.IsZero() {
			at = one.At.UTC().Format(time.RFC3339)
		}
		state := one.What
		if one.Made {
			state += " (done)"
		}
		t.add(one.Event, string(one.Step), at, state)
	}
	if len(z.Events) == 0 {
		t.add("none", "", "", "")
	}
	return t
}

// eventLines say in words what will happen when.
func eventLines(z zone.Settings) (lines []string) {
	for _, one := range z.Plan() {
		if one.Made || one.At.IsZero() {
			continue
		}
		lines = append(lines, one.At.UTC().Format("Mon 2 Jan 2006 15:04:05 UTC")+": "+one.Event+": "+one.What)
	}
	return lines
}
