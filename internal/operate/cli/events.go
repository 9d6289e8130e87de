package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// events is queue-server events.
func (c *connection) events() *cobra.Command {
	act := func(use, short string, do operator.Verb) *cobra.Command {
		return c.command("changeEvent", use, short, func(ctx context.Context, s *session, args []string) error {
			rest := append(slices.Clone(args[2:]), "", "")
			if do == operator.Move {
				if _, err := setting.ParseTime(rest[1]); err != nil {
					return Usage("%q %w", rest[1], err)
				}
			}
			reply, err := adminclient.Call[zone.Settings](ctx, s.Client, adminclient.Request{
				ID: "changeEvent", Parts: []string{args[0], args[1], string(do)}, Body: operator.Asked{Step: event.Step(rest[0]), To: rest[1]},
			})
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			if err := s.printEvents(reply.Value, time.Now()); err != nil {
				return err
			}
			if do == operator.Cancel {
				s.say("%s is cancelled. %s", args[1], doing(reply.Value))
			}
			return nil
		})
	}
	return group("events", "List the events of a zone; hold, move, open or cancel the next one; verify a draw.",
		show(c, "getZone", "list ZONE", "The events of a zone, and what comes when.", func(_ context.Context, s *session, z *zone.Settings) error {
			return s.printEvents(*z, time.Now())
		}),
		act("hold ZONE EVENT STEP", "Hold a step until you move it: preQueue, opens, closes or ends.", operator.Hold),
		act("move ZONE EVENT STEP TIME", "Move a step to another time; this also ends a hold.", operator.Move),
		act("open ZONE EVENT", "Open an event now. Visitors who gathered first learn their places, which takes up to 30 s.", operator.Open),
		act("cancel ZONE EVENT", "Cancel an event, or end it now. The settings from before the event hold again. This cannot be undone; list the event again for another time or under another name.", operator.Cancel),
		verifyEvent(c.Terminal),
	)
}

// printEvents prints the events of a zone, and why the one that is next would not do what its list says.
func (s *session) printEvents(z zone.Settings, now time.Time) error {
	if err := s.print(eventTable(z, now)); err != nil || z.EventState.Now == nil {
		return err
	}
	for _, text := range z.Obstacles(z.EventState.Now) {
		s.say("WARNING: %s: %s", z.EventState.Now.Event.Name, text)
	}
	return nil
}

// eventTable is the events of a zone, a step a line.
func eventTable(z zone.Settings, now time.Time) *table {
	t := &table{titles: []string{"EVENT", "STEP", "WHEN", "WHAT"}}
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
