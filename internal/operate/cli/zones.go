package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// listZones is queue-server zones list.
func (c *connection) listZones() *cobra.Command {
	return show(c, "listZones", "list", "All zones and their settings.", func(_ context.Context, s *session, all *operator.Zones) error {
		if len(all.Zones) == 0 {
			s.say("There are no zones yet. To make one: queue-server zones create ZONE perMinute=600")
			return nil
		}
		return s.print(zoneTable(all.Zones))
	})
}

// zoneTable is the zones with those settings that have a column.
func zoneTable(zones []zone.Settings) *table {
	t := &table{titles: []string{"ZONE", "STATE"}}
	for _, x := range zone.Table {
		if x.Column != "" {
			t.titles = append(t.titles, x.Column)
		}
	}
	for _, z := range zones {
		z.PassTTLSeconds = int64(z.PassTTL() / time.Second) // which 0 leaves to the server
		row := []string{z.ZoneID, z.State()}
		for i := range zone.Table {
			if x := &zone.Table[i]; x.Column != "" {
				row = append(row, cell(x, z))
			}
		}
		t.add(row...)
	}
	return t
}

// longText is from how many bytes on a value is told of, rather than printed.
const longText = 1_200

// getZone is queue-server zones get. It prints a zone as zones set takes it.
func (c *connection) getZone() *cobra.Command {
	return show(c, "getZone", "get ZONE", "One zone's settings.", func(_ context.Context, s *session, z *zone.Settings) error {
		t := &table{titles: []string{"SETTING", "VALUE", "MEANS"}}
		for i := range zone.Table {
			x := &zone.Table[i]
			if x.Own {
				continue // events list shows it
			}
			value := x.Text(*z)
			if len(value) > longText || x.Of != "" { // no text to read, as a logo
				value = x.Words(*z)
			}
			t.add(x.Name, value, x.Meaning(*z))
		}
		return s.print(t)
	})
}

// assignments reads arguments such as perMinute=600 into settings, and returns them for the server to check; numbers
// are numbers, also as people are shown them: 12,340.
func assignments(args []string, into *zone.Settings) (map[string]any, error) {
	given := make(map[string]any, len(args))
	for _, a := range args {
		name, text, isPair := strings.Cut(a, "=")
		x := zone.Table.Find(name)
		_, twice := given[name]
		switch {
		case !isPair && x != nil:
			return nil, Usage("%s: give it a value: %s=...", a, a)
		case !isPair:
			return nil, Usage("%q is no setting; write name=value, such as perMinute=600", a)
		case x == nil || x.Own:
			return nil, Usage("%q is no setting; %s", name, strictyaml.Suggest(name, zone.Table.Typed()))
		case twice:
			return nil, Usage("%s is given twice", name)
		case x.Of != "" && text == "":
			return nil, Usage("%s is empty, must be %s in JSON; %s=[] removes all", name, x.Kind(), name)
		}
		if err := x.Parse(into, text); err != nil && x.Of != "" {
			return nil, Usage("%s must be %s in JSON: %w", name, x.Kind(), err)
		} else if err != nil {
			return nil, Usage("%s is %q, must be %s", name, text, x.Kind())
		}
		if given[name] = x.Value(*into); x.Of != "" {
			given[name] = json.RawMessage(text) // the server looks whether all that is in it is known
		}
	}
	return given, nil
}

// createZone is queue-server zones create.
func (c *connection) createZone() *cobra.Command {
	return c.command("deleteZone", "create NAME [NAME=VALUE]...", "Make a zone, with settings such as perMinute=600. One that is there already stays as it is.",
		func(ctx context.Context, s *session, args []string) error {
			id := args[0]
			settings, err := assignments(args[1:], new(zone.Settings))
			if err != nil {
				return err
			}
			if !zone.ValidID(id) {
				return Usage("%q cannot be the name of a zone: 1 to 64 of A-Z a-z 0-9 . _ -", id)
			}
			reply, err := put[zone.Settings](ctx, s, "putZone", id, settings, "")
			if errors.Is(err, adminclient.ErrConflict) {
				return sentence(err, "zone %s is there already, and stays as it is\nTo change it: queue-server zones set %s NAME=VALUE", id, id)
			}
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			s.say("%s is made. %s", id, doing(reply.Value))
			return nil
		})
}

// deleteZone is queue-server zones delete.
func (c *connection) deleteZone() *cobra.Command {
	return c.deleteCommand("deleteZone", "delete ZONE", "Delete a zone, and everybody's place in it.", func(ctx context.Context, s *session, name string) (found, error) {
		was, err := get[zone.Settings](ctx, s, "getZone", name)
		if err != nil {
			return found{}, err
		}
		settings := change.Differences(zone.Table, zone.Defaults(name), was.Value)
		return found{
			loss: change.ZoneLoss(s.line(ctx, name)),
			again: " To have one with its settings again:\n  queue-server zones create " + name +
				assign(settings, func(d change.Difference) string { return d.NowText }),
			remove: func(ctx context.Context) error { return s.remove(ctx, "deleteZone", name, was.Version) },
		}, nil
	})
}
