package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
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
			for _, change := range e.changes { // each whole by itself, so that grep finds all of it
				t.add(e.name, time.UnixMilli(e.atMillis).UTC().Format(time.RFC3339), cmp.Or(e.by, "-"), change)
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
			for _, change := range reply.Value.Changes {
				all = append(all, recorded{change.ZoneID, change.By, change.AtMillis, zoneChange(change)})
			}
			return all, reply.JSON, s.aboutZone(ctx, name, err)
		})
}

// auditLimits is queue-server limits audit.
func (c *connection) auditLimits() *cobra.Command {
	return c.record("audit [POLICY]", "The record of changes of policies: when, who, what was and what is.", "POLICY",
		func(ctx context.Context, s *session, name string, most int) (all []recorded, text []byte, err error) {
			reply, err := s.LimitChanges(ctx, name, most)
			for _, change := range reply.Value.Policies {
				all = append(all, recorded{change.Policy, change.By, change.AtMillis, policyChange(change)})
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
		for _, d := range differences(zone.Defaults(c.ZoneID), *c.Now) {
			if d.Name != perMinuteKey {
				made = append(made, d.Name+" "+d.now)
			}
		}
		return []string{strings.Join(made, ", ")}
	}
	var all []string
	for _, d := range differences(*c.Was, *c.Now) {
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
		return []string{"made: " + ruleWords(c.Now.Rules)}
	}
	all := policyDifferences(c.Was, c.Now)
	for i, text := range all {
		all[i] = strings.Join(strings.Fields(text), " ")
	}
	return all
}

// policyDifferences are the lines that only one of two policies has: - what was,
// + what is. Either may be nil.
func policyDifferences(was, now *limit.Policy) []string {
	var all []string
	add := func(mark string, of, other []string) {
		for _, text := range of {
			if !slices.Contains(other, text) {
				all = append(all, mark+" "+text)
			}
		}
	}
	before, after := policyLines(was), policyLines(now)
	add("-", before, after)
	add("+", after, before)
	return all
}
