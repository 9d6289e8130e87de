package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
)

// usualChanges is how many changes are shown when nobody says otherwise.
const usualChanges = 50

// recorded is one entry of the record.
type recorded struct {
	name, by, how string
	atMillis      int64
	// changes are what was changed, one setting each.
	changes []string
}

// audit is queue-server audit: the record of zones and policies, also of those that were deleted.
func (c *connection) audit() *cobra.Command {
	var policy string
	var most int
	command := c.command("audit [ZONE]", "The record of changes of zones, policies and operators: when, who, how that was proven, what was and what is.",
		func(ctx context.Context, s *session, args []string) error {
			zoneID := strings.Join(args, "") // one argument, or none
			switch {
			case most < 1:
				return Usage("--limit is %d, must be 1 or more", most)
			case zoneID != "" && policy != "":
				return Usage("name a zone or, with --policy, a policy, not both")
			}
			reply, err := s.Changes(ctx, zoneID, policy, most)
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			all := record(reply.Value)
			if len(all) == 0 {
				s.say("The record has no such changes.")
				return nil
			}
			t := &table{titles: []string{"NAME", "WHEN", "WHO", "HOW", "CHANGE"}}
			for _, e := range all[:min(len(all), most)] {
				for _, one := range e.changes { // each whole by itself, so that grep finds all of it
					t.add(e.name, time.UnixMilli(e.atMillis).UTC().Format(time.RFC3339), cmp.Or(e.by, "-"), cmp.Or(e.how, "-"), one)
				}
			}
			return s.print(t)
		})
	command.Flags().StringVar(&policy, "policy", "", "the changes of this `POLICY`, and no others")
	command.Flags().IntVarP(&most, "limit", "n", usualChanges, "the most changes that are shown, newest first")
	return command
}

// record is the entries of both lists, the newest first.
func record(changes adminclient.Changes) (all []recorded) {
	for _, c := range changes.Zones {
		all = append(all, recorded{c.ZoneID, c.Who(), c.How(), c.AtMillis, change.Recorded(c)})
	}
	for _, c := range changes.Policies {
		all = append(all, recorded{"policy " + c.Policy, c.Who(), c.How(), c.AtMillis, policyChange(c)})
	}
	for _, e := range changes.Operators {
		all = append(all, recorded{"operators", e.Who(), e.How(), e.AtMillis, []string{e.Did + " " + e.To}})
	}
	slices.SortStableFunc(all, func(a, b recorded) int { return cmp.Compare(b.atMillis, a.atMillis) })
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
	return policyLines(*c.Was, *c.Now)
}

// policyLines are the settings of a policy that differ.
func policyLines(was, now limit.Policy) (lines []string) {
	for _, d := range change.Differences(change.Policies, was, now) {
		lines = append(lines, d.String())
	}
	return lines
}
