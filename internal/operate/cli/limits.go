package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/change"
)

// listLimits is queue-server limits list.
func (c *connection) listLimits() *cobra.Command {
	return show(c, "listLimits", "list", "All policies.", func(_ context.Context, s *session, all *policyset.Limits) error {
		if len(all.Limits) == 0 {
			s.say("There are no policies yet. To make some from a file: queue-server limits apply -f FILE")
			return nil
		}
		t := &table{titles: []string{"POLICY", "RULES", "TIERS", "KEY", "SCOPE", "OUTAGE"}}
		for _, p := range all.Limits {
			tiers := cmp.Or(strings.Join(slices.Sorted(maps.Keys(p.Tiers)), ","), "-")
			t.add(p.Name, change.RuleWords(p.Rules), tiers, change.KeyWords(p.Key), string(p.Scope), string(p.OnStoreFailure))
		}
		return s.print(t)
	})
}

// showLimit is queue-server limits show: one policy, and what was seen of it.
func (c *connection) showLimit() *cobra.Command {
	return show(c, "getLimit", "show POLICY", "One policy, and what the server has seen of it in the last minute.",
		func(ctx context.Context, s *session, p *limit.Policy) error {
			if err := s.print(policyTable(*p)); err != nil {
				return err
			}
			stats, err := get[limiter.Stats](ctx, s, "limitStats", p.Name)
			if err != nil {
				return err
			}
			return s.printLimitStats(stats.Value)
		})
}

// deleteLimit is queue-server limits delete.
func (c *connection) deleteLimit() *cobra.Command {
	return c.deleteCommand("deleteLimit", "delete POLICY", "Delete a policy. Requests for the policy are answered with 404.",
		func(ctx context.Context, s *session, name string) (found, error) {
			was, err := get[limit.Policy](ctx, s, "getLimit", name)
			remove := func(ctx context.Context) error { return s.remove(ctx, "deleteLimit", name, was.Version) }
			return found{loss: change.PolicyLoss(was.Value), remove: remove}, err
		})
}

// policyTable is all of a policy.
func policyTable(p limit.Policy) *table {
	t := &table{titles: []string{"SETTING", "VALUE"}}
	for i := range change.Policies {
		t.add(change.Policies[i].Name, change.Policies[i].Words(p))
	}
	return t
}

func (s *session) printLimitStats(stats limiter.Stats) error {
	s.say("\nOn this server, in the last %s:\n", seconds(int64(stats.RecentSeconds)))
	t := &table{titles: []string{"TIER", "ALLOWED", "REFUSED", "OF THESE, FROM MEMORY", "WITHOUT THE STORE"}}
	for _, tier := range stats.Tiers {
		c := tier.Recent
		t.add(tier.Tier, grouped(int64(c.Allowed())), grouped(int64(c.Refused())), grouped(int64(c[limiter.RefusedFromMemory])),
			grouped(int64(c.WithoutStore())))
	}
	if err := s.print(t); err != nil {
		return err
	}
	if stats.Failing > 0 {
		s.say("\nThe store does not answer: onStoreFailure decides, for %d of 16 parts of the keys.", stats.Failing)
	}
	return nil
}
