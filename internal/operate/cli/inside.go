package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
)

// inside is queue-server inside.
func (c *connection) inside() *cobra.Command {
	var act operator.Whom
	do := func(use, short string, verb operator.InsideVerb, would, did string) *cobra.Command {
		command := c.command("changeInside", use, short, func(ctx context.Context, s *session, args []string) error {
			if len(args) > 1 {
				act.JTI = args[1]
			}
			if verb == operator.Revoke && act.All == (act.JTI != "") {
				return Usage("name one JTI, or all with --all")
			}
			reply, err := adminclient.Call[operator.InsideDone](ctx, s.Client, adminclient.Request{ID: "changeInside", Parts: []string{args[0], string(verb)}, Body: act})
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			text := did
			if act.DryRun {
				text = would
			}
			s.say(text, args[0], counted(int(reply.Value.Count), "admission", "admissions"))
			return nil
		})
		command.Flags().BoolVar(&act.DryRun, "dry-run", false, "say how many it is about, and change nothing")
		return command
	}
	revoke := do("revoke ZONE [JTI]", "End an admission: its session is refused everywhere within a second, and the visitor queues again.", operator.Revoke,
		"%s: would revoke %s. Nothing is changed.", "%s: revoked %s. Every server refuses their sessions within a second. This cannot be undone.")
	revoke.Flags().BoolVar(&act.All, "all", false, "end all admissions of the zone: the brake for a site that breaks")
	most := 0
	list := c.command("listInside", "list ZONE", "The newest sessions that asked this server.", func(ctx context.Context, s *session, args []string) error {
		reply, err := adminclient.Call[operator.Sessions](ctx, s.Client, adminclient.Request{ID: "listInside", Parts: args, Query: map[string]string{"limit": strconv.Itoa(most)}})
		if err != nil || s.json {
			return s.printReply(reply.JSON, err)
		}
		if err := s.print(sessionTable(reply.Value)); err != nil {
			return err
		}
		s.say("This server knows %d sessions. %d of them have asked for nothing for 3 minutes.", reply.Value.Known, reply.Value.Idle)
		stats, err := get[operator.Stats](ctx, s, "zoneStats", args[0])
		if err != nil {
			return err
		}
		switch v := &stats.Value; {
		case v.MaxInside == 0:
			s.say("%s has no cap (maxInside), so nobody counts who is inside.", args[0])
		case v.Inside > reply.Value.Known:
			s.say("The store counts %s inside, of %s. The others asked another server, used their pass at no gate of this room, or have not entered yet.", grouped(v.Inside), grouped(v.MaxInside))
		default:
			s.say("The store counts %s inside, of %s.", grouped(v.Inside), grouped(v.MaxInside))
		}
		return nil
	})
	list.Flags().IntVar(&most, "limit", 100, "most sessions to show, up to "+strconv.Itoa(operator.MaxListed))
	return group("inside", "List who is inside a zone with maxInside, and revoke admissions.",
		list, revoke,
		do("reset ZONE", "Reset the count after a loss of data: forget admissions that the store lost and that may still be inside.", operator.Reset,
			"%s: would forget %s that the store lost. Nothing is changed.", "%s: forgot %s that the store lost."))
}

// sessionTable is a table of sessions.
func sessionTable(all operator.Sessions) *table {
	t := &table{titles: []string{"JTI", "ADMITTED", "SINCE", "LAST ASKED", "UNTIL", "RENEWED"}}
	at := func(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.TimeOnly) }
	for _, one := range all.Sessions {
		renewed := "no"
		if one.Renewed {
			renewed = "yes"
		}
		t.add(one.JTI, at(one.AdmittedAtMillis), at(one.SinceMillis), at(one.AskedMillis), at(one.UntilMillis), renewed)
	}
	return t
}
