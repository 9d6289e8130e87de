package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// auditCommand is queue-server audit.
type auditCommand struct {
	Zone  string `arg:"" optional:"" help:"Name of the zone, also of one that was deleted; all zones when absent." complete:"zone"`
	Limit int    `short:"n" default:"50" help:"The most changes that are shown, newest first."`
	deskFlags
}

// Run prints the record of changes.
func (c auditCommand) Run(ctx context.Context, at *surroundings) error {
	if c.Limit < 1 {
		return usage("--limit is %d, must be 1 or more", c.Limit)
	}
	return c.at(at, func(d *desk) error {
		reply, err := d.Changes(ctx, c.Zone, c.Limit)
		if err != nil {
			return d.about(ctx, c.Zone, err)
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		if len(reply.Value.Changes) == 0 {
			d.say("The record has no changes of %s.", orAll(c.Zone))
			return nil
		}
		return auditTable(reply.Value.Changes, time.Local).print(d.stdout, d.columns())
	})
}

func orAll(zoneID string) string {
	if zoneID == "" {
		return "any zone"
	}
	return zoneID
}

// auditTable has a row for each setting that was changed, each whole by itself,
// so that grep finds all of it.
func auditTable(changes []adminclient.Change, where *time.Location) *table {
	t := &table{columns: []column{{title: "ZONE"}, {title: "WHEN"}, {title: "WHO"}, {title: "CHANGE"}}}
	for _, c := range changes {
		when := time.UnixMilli(c.AtMillis).In(where).Format(time.DateTime)
		who := c.By
		if who == "" {
			who = "-"
		}
		for _, what := range changeWords(c) {
			t.add(c.ZoneID, when, who, what)
		}
	}
	return t
}

// changeWords says what a change did, one setting each.
func changeWords(c adminclient.Change) []string {
	switch {
	case c.Now == nil && c.Was == nil:
		return []string{"unknown"}
	case c.Now == nil:
		return []string{"deleted"}
	case c.Was == nil:
		made := []string{"made with perMinute " + grouped(c.Now.PerMinute)}
		for _, s := range differences(zone.Defaults(c.ZoneID), *c.Now) {
			if s.name != perMinuteKey {
				made = append(made, fmt.Sprintf("%s %v", s.name, s.now))
			}
		}
		return []string{strings.Join(made, ", ")}
	}
	var all []string
	for _, s := range differences(*c.Was, *c.Now) {
		all = append(all, s.String())
	}
	if len(all) == 0 {
		all = append(all, "nothing that this command knows of")
	}
	return all
}
