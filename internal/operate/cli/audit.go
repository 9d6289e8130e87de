package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// usualChanges is how many changes are shown when nobody says otherwise.
const usualChanges = 50

// recorded is one entry of a record.
type recorded struct {
	name, by string
	atMillis int64
	// changes are what was changed, one setting each.
	changes []string
}

// record returns a command that prints a record of changes. read reads that of a name,
// or all of it where the name is "", and returns the entries and the server's answer.
func (c *connection) record(use, short, title string,
	read func(ctx context.Context, s *session, name string, most int) ([]recorded, []byte, error),
) *cobra.Command {
	var most int
	command := c.command(use, short, func(ctx context.Context, s *session, args []string) error {
		if most < 1 {
			return Usage("--limit is %d, must be 1 or more", most)
		}
		entries, text, err := read(ctx, s, strings.Join(args, ""), most) // one argument, or none
		if err != nil || s.json {
			return s.printReply(text, err)
		}
		if len(entries) == 0 {
			s.say("The record has no such changes.")
			return nil
		}
		t := &table{columns: []column{{title: title}, {title: "WHEN"}, {title: "WHO"}, {title: "CHANGE"}}}
		for _, e := range entries {
			for _, one := range e.changes { // each whole by itself, so that grep finds all of it
				t.add(e.name, time.UnixMilli(e.atMillis).UTC().Format(time.RFC3339), cmp.Or(e.by, "-"), one)
			}
		}
		return s.print(t)
	})
	command.Flags().IntVarP(&most, "limit", "n", usualChanges, "the most changes that are shown, newest first")
	return command
}

// audit is queue-server audit: the record of zones, also of those that were deleted.
func (c *connection) audit() *cobra.Command {
	return c.record("audit [ZONE]", "The record of changes: when, who, what was and what is.", "ZONE",
		func(ctx context.Context, s *session, name string, most int) (all []recorded, text []byte, err error) {
			reply, err := s.Changes(ctx, name, most)
			for _, c := range reply.Value.Changes {
				all = append(all, recorded{c.ZoneID, c.By, c.AtMillis, zoneChange(c)})
			}
			return all, reply.JSON, err
		})
}

// auditLimits is queue-server limits audit.
func (c *connection) auditLimits() *cobra.Command {
	return c.record("audit [POLICY]", "The record of changes of policies: when, who, what was and what is.", "POLICY",
		func(ctx context.Context, s *session, name string, most int) (all []recorded, text []byte, err error) {
			reply, err := s.LimitChanges(ctx, name, most)
			for _, c := range reply.Value.Policies {
				all = append(all, recorded{c.Policy, c.By, c.AtMillis, policyChange(c)})
			}
			return all, reply.JSON, err
		})
}

// zoneChange says what a change did to a zone, one setting each.
func zoneChange(c zone.Change) []string {
	switch {
	case c.Now == nil && c.Was == nil:
		return []string{"unknown"}
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		made := []string{"made with perMinute " + grouped(c.Now.PerMinute)}
		for _, d := range change.Differences(zone.Table, zone.Defaults(c.ZoneID), *c.Now) {
			if d.Name != perMinuteKey {
				made = append(made, d.Name+" "+d.NowText)
			}
		}
		return []string{strings.Join(made, ", ")}
	}
	var all []string
	for _, d := range change.Events(*c.Was, *c.Now, change.Differences(zone.Table, *c.Was, *c.Now)) {
		all = append(all, d.String())
	}
	if len(all) == 0 {
		all = append(all, "nothing that this command knows of")
	}
	return all
}

// policyChange says what a change did to a policy, one setting each.
func policyChange(c limit.Change) []string {
	switch {
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		return []string{"made: " + change.RuleWords(c.Now.Rules)}
	}
	return policyLines(c.Was, c.Now)
}

// policyLines are the settings of a policy that differ, or all of a new one; none of one that is deleted.
func policyLines(was, now *limit.Policy) (lines []string) {
	switch {
	case now == nil:
	case was == nil:
		t := policyTable(*now)
		lines = t.lines()[1:]
	default:
		for _, d := range change.Differences(change.Policies, *was, *now) {
			lines = append(lines, d.String())
		}
	}
	return lines
}
