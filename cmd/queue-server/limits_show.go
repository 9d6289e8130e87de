package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
)

// limitsCommand is queue-server limits: what an operator does with policies.
type limitsCommand struct {
	List   limitListCommand   `cmd:"" help:"All policies."`
	Show   limitShowCommand   `cmd:"" help:"One policy, what the server has seen of it in the last minute, and who was refused most."`
	Apply  limitApplyCommand  `cmd:"" help:"Make the policies match a file; shows the differences first."`
	Audit  limitAuditCommand  `cmd:"" help:"The record of changes of policies: when, who, what was and what is."`
	Delete limitDeleteCommand `cmd:"" help:"Delete a policy: who asks for it is told that there is none."`
}

// policyArg is the name of a policy that is there.
type policyArg struct {
	Policy string `arg:"" help:"Name of the policy." complete:"policy"`
}

// limitListCommand is queue-server limits list.
type limitListCommand struct{ deskFlags }

// Run prints all policies.
func (c limitListCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		reply, err := d.Limits(ctx)
		if err != nil {
			return err
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		if len(reply.Value.Limits) == 0 {
			d.say("There are no policies yet. To make some from a file: queue-server limits apply -f FILE")
			return nil
		}
		t := &table{columns: []column{
			{title: "POLICY"}, {title: "RULES"}, {title: "TIERS", spare: 3}, {title: "KEY", spare: 1},
			{title: "SCOPE", spare: 2}, {title: "SHARDS", right: true, spare: 4}, {title: "OUTAGE"},
		}}
		for _, p := range reply.Value.Limits {
			tiers := strings.Join(slices.Sorted(maps.Keys(p.Tiers)), ",")
			if tiers == "" {
				tiers = "-"
			}
			t.add(p.Name, ruleWords(p.Rules), tiers, keyWords(p.Key), string(p.Scope), grouped(p.Shards), string(p.OnStoreFailure))
		}
		return t.print(d.stdout, d.columns())
	})
}

// ruleWords writes rules for people: 100 in 1 m, 20 in 10 s.
func ruleWords(rules []limit.Rule) string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = grouped(r.Limit) + " in " + seconds(r.WindowSeconds)
		if r.Burst > 0 {
			all[i] += " burst " + grouped(r.Burst)
		}
	}
	return strings.Join(all, ", ")
}

func keyWords(key []limit.Source) string {
	all := make([]string, len(key))
	for i, k := range key {
		all[i] = string(k)
	}
	return strings.Join(all, ",")
}

// limitAuditCommand is queue-server limits audit.
type limitAuditCommand struct {
	Policy string `arg:"" optional:"" help:"Name of the policy, also of one that was deleted; all policies when absent." complete:"policy"`
	Limit  int    `short:"n" default:"50" help:"The most changes that are shown, newest first."`
	deskFlags
}

// Run prints the record of changes of policies.
func (c limitAuditCommand) Run(ctx context.Context, at *surroundings) error {
	if c.Limit < 1 {
		return usage("--limit is %d, must be 1 or more", c.Limit)
	}
	return c.at(at, func(d *desk) error {
		reply, err := d.LimitChanges(ctx, c.Policy, c.Limit)
		if err != nil {
			return err
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		if len(reply.Value.Policies) == 0 {
			d.say("The record has no such changes.")
			return nil
		}
		t := &table{columns: []column{{title: "POLICY"}, {title: "WHEN"}, {title: "WHO"}, {title: "CHANGE"}}}
		for _, change := range reply.Value.Policies {
			who := change.By
			if who == "" {
				who = "-"
			}
			for _, what := range policyChange(change) {
				t.add(change.Policy, time.UnixMilli(change.AtMillis).Format(time.DateTime), who, what)
			}
		}
		return t.print(d.stdout, d.columns())
	})
}

// policyChange says what a change did, one setting each: - what was, + what is.
func policyChange(c limit.Change) []string {
	switch {
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		return []string{"made: " + ruleWords(c.Now.Rules)}
	}
	var all []string
	was, now := policyLines(*c.Was), policyLines(*c.Now)
	add := func(mark string, lines, other []string) {
		for _, text := range lines {
			if !slices.Contains(other, text) {
				all = append(all, mark+" "+strings.Join(strings.Fields(text), " "))
			}
		}
	}
	add("-", was, now)
	add("+", now, was)
	return all
}

// limitShowCommand is queue-server limits show.
type limitShowCommand struct {
	policyArg
	deskFlags
}

// Run prints one policy, and what was seen of it.
func (c limitShowCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		reply, err := d.Limit(ctx, c.Policy)
		if err != nil {
			return d.aboutPolicy(ctx, c.Policy, err)
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		for _, text := range policyLines(reply.Value) {
			d.say("%s", text)
		}
		stats, err := d.LimitStats(ctx, c.Policy)
		if err != nil {
			return d.aboutPolicy(ctx, c.Policy, err)
		}
		return d.showLimitStats(stats.Value)
	})
}

// policyLines are all of a policy, for people.
func policyLines(p limit.Policy) []string {
	t := &table{columns: []column{{}, {}}}
	add := func(name string, rules []limit.Rule) {
		for _, r := range rules {
			text := fmt.Sprintf("%s in %s, %s", grouped(r.Limit), seconds(r.WindowSeconds), r.Algorithm)
			if r.Burst > 0 {
				text += ", burst " + grouped(r.Burst)
			}
			t.add(name, text)
		}
	}
	add("rule", p.Rules)
	for _, name := range slices.Sorted(maps.Keys(p.Tiers)) {
		add("rule of "+name, p.Tiers[name])
	}
	t.add("key", keyWords(p.Key))
	t.add("scope", string(p.Scope))
	t.add("shards", grouped(p.Shards))
	t.add("onStoreFailure", string(p.OnStoreFailure))
	return t.lines(0)[1:]
}

func (d *desk) showLimitStats(s adminclient.LimitStats) error {
	d.say("\nOn this server, in the last %s:\n", seconds(int64(s.RecentSeconds)))
	t := &table{columns: []column{
		{title: "TIER"}, {title: "ALLOWED", right: true}, {title: "REFUSED", right: true},
		{title: "OF THESE, FROM MEMORY", right: true, spare: 2}, {title: "WITHOUT THE STORE", right: true, spare: 1},
	}}
	for _, tier := range s.Tiers {
		c := tier.Recent
		t.add(tier.Tier, grouped(int64(c.Allowed+c.AllowedOpen+c.AllowedLocally)),
			grouped(int64(c.Refused+c.RefusedFromMemory+c.RefusedClosed+c.RefusedLocally)), grouped(int64(c.RefusedFromMemory)),
			grouped(int64(c.AllowedOpen+c.AllowedLocally+c.RefusedClosed+c.RefusedLocally)))
	}
	if err := t.print(d.stdout, d.columns()); err != nil {
		return err
	}
	if s.FailingLanes > 0 {
		d.say("\nThe store does not answer: onStoreFailure decides, for %d of 16 parts of the keys.", s.FailingLanes)
	}
	if len(s.Busiest) == 0 {
		return nil
	}
	d.say("\nRefused most, as hashes of their keys:\n")
	busy := &table{columns: []column{{title: "KEY"}, {title: "REFUSED, ABOUT", right: true}}}
	for _, b := range s.Busiest {
		busy.add(b.Key, grouped(b.Refused))
	}
	return busy.print(d.stdout, d.columns())
}

// aboutPolicy says an error about a policy; if there is no such policy, which other
// may be meant.
func (d *desk) aboutPolicy(ctx context.Context, name string, err error) error {
	switch {
	case errors.Is(err, adminclient.ErrConflict):
		return sentence(err, "policy %s: others have changed it meanwhile; it was left as it is. Look at it with: queue-server limits show %s", name, name)
	case !errors.Is(err, adminclient.ErrNotFound):
		return err
	}
	reply, listErr := d.Limits(ctx)
	if listErr != nil {
		return sentence(err, "there is no policy %s", name)
	}
	names := make([]string, len(reply.Value.Limits))
	for i, p := range reply.Value.Limits {
		names[i] = p.Name
	}
	if len(names) == 0 {
		return sentence(err, "there is no policy %s; there are none yet", name)
	}
	return sentence(err, "there is no policy %s; %s", name, suggest(name, names))
}
