package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/admissionlog"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/evidence"
	"github.com/openqueue/waitingroom/internal/operate/operator"
)

const dayHelp = "the `DAY` of the arrival (UTC), such as 2026-12-01, of a visitor who is gone; today when absent"

// visitor returns where a visitor stands: args are the zone and the reference, day may be "".
func (s *session) visitor(ctx context.Context, args []string, day string) (adminclient.Reply[operator.Visitor], error) {
	return adminclient.Call[operator.Visitor](ctx, s.Client, adminclient.Request{ID: "findVisitor", Parts: args, Query: map[string]string{"day": day}})
}

// findVisitor is queue-server visitors find.
func (c *connection) findVisitor() *cobra.Command {
	var day string
	command := c.command("findVisitor", "find ZONE REF", "Where a visitor stands, by the reference that the visitor's page shows.",
		func(ctx context.Context, s *session, args []string) error {
			reply, err := s.visitor(ctx, args, day)
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			v := &reply.Value
			s.say("%s: %s", v.PlaceID, v.Words())
			if v.Pseudonym != "" {
				s.say("In logs of admissions, with an arrival on %s, the visitor is %s.", v.Day, v.Pseudonym)
			}
			return nil
		})
	command.Flags().StringVar(&day, "day", "", dayHelp)
	return command
}

// giveUpVisitor is queue-server visitors give-up.
func (c *connection) giveUpVisitor() *cobra.Command {
	return show(c, "giveUpVisitor", "give-up ZONE REF", "Give a visitor's place up, as when the visitor leaves: in the line, aside or inside. Nobody else is moved.",
		func(_ context.Context, s *session, v *operator.Visitor) error {
			if !v.GivenUp {
				s.say("%s: there is nothing to give up: %s", v.PlaceID, v.Words())
				return nil
			}
			s.say("%s: given up. Before: %s", v.PlaceID, v.Words())
			return nil
		})
}

// forget is queue-server evidence forget.
func (c *connection) forget() *cobra.Command {
	var yes bool
	command := c.command("forgetPseudonyms", "forget ZONE DAY", "Destroy the key of a day's pseudonyms: nobody can say any more who is who in the logs.",
		func(ctx context.Context, s *session, args []string) error {
			if !yes {
				if err := s.confirm(ctx, args[1], "forget "+args[1],
					"Forget who is who in the logs of %s, of those who arrived on %s (UTC)?\nThis cannot be undone. Type the day to do it: ", args[0], args[1]); err != nil {
					return err
				}
			}
			if _, err := get[struct{}](ctx, s, "forgetPseudonyms", args...); err != nil {
				return err
			}
			s.say("The key of %s is destroyed: every server goes by another within two seconds. Copies and backups of the store may have it.", args[1])
			return nil
		})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command
}

// receipt is queue-server evidence receipt. It asks a server for the pseudonym alone.
func (c *connection) receipt() *cobra.Command {
	var day string
	var logs []string
	command := c.command("findVisitor", "receipt ZONE REF", "What the logs have of a visitor: arrival, admission, and who entered before.",
		func(ctx context.Context, s *session, args []string) error {
			reply, err := s.visitor(ctx, args, day)
			if err != nil {
				return err
			}
			v := &reply.Value
			if v.Pseudonym == "" {
				return fmt.Errorf("there is no key of the pseudonyms of %s: nobody was logged, or the key is over or was destroyed", v.Day)
			}
			runs, _, err := admissionlog.Read(logs...)
			if err != nil {
				return err
			}
			all := evidence.Receipts(&evidence.Source{Zone: args[0], Runs: runs}, v.Pseudonym)
			if s.json {
				return s.sayJSON(all)
			}
			at := func(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000Z") }
			if len(all) == 0 {
				s.say("These logs have nobody with the reference %s who arrived on %s.", v.PlaceID, v.Day)
			}
			for _, r := range all {
				s.say("%s arrived %s.", v.PlaceID, at(r.ArrivedAtMicros))
				if r.Ticket != "" {
					s.say("A draw gave the visitor its place, by the ticket %s.", r.Ticket)
				}
				if r.AdmittedAt == 0 {
					s.say("These logs have no admission of it.")
					continue
				}
				s.say("It was admitted %s. Of those who arrived later, %s entered before: %s by the draw, %s who came back to an earlier place, %s otherwise.",
					at(1000*r.AdmittedAt), grouped(r.Earlier), grouped(r.Drawn), grouped(r.Returned), grouped(r.Earlier-r.Drawn-r.Returned))
				if r.Late {
					s.say("The visitor itself did not come when it was told to, or came back.")
				}
			}
			return nil
		})
	command.Flags().StringArrayVar(&logs, "log", nil, "`FOLDER` with logs; one for each server, or one of all")
	command.Flags().StringVar(&day, "day", "", dayHelp)
	_ = command.MarkFlagRequired("log") // it is there
	return command
}
