package main

import (
	"context"
	"strings"

	"github.com/openqueue/waitingroom/internal/zone"
)

// zonesCommand is queue-server zones: what an operator does with zones.
type zonesCommand struct {
	List   listCommand   `cmd:"" help:"All zones and their settings."`
	Get    getCommand    `cmd:"" help:"One zone's settings."`
	Watch  watchCommand  `cmd:"" help:"Zones at this moment, every second, until you end it."`
	Set    setCommand    `cmd:"" help:"Change the settings that you name, and no others."`
	Pause  pauseCommand  `cmd:"" help:"Let nobody in: perMinute 0. Everybody keeps the place."`
	Resume resumeCommand `cmd:"" help:"Undo a pause: the limit that the record of changes has from before."`
	Open   openCommand   `cmd:"" help:"Let everybody in, and count them: mode open."`
	Close  closeCommand  `cmd:"" help:"Take no newcomers: mode closed. Those who wait go on being let in."`
	Create createCommand `cmd:"" help:"Make a zone. One that is there already stays as it is."`
	Delete deleteCommand `cmd:"" help:"Delete a zone, and everybody's place in it."`
	Apply  applyCommand  `cmd:"" help:"Make the settings match a file; shows the differences first."`
}

// zoneArg is the name of a zone that is there.
type zoneArg struct {
	Zone string `arg:"" help:"Name of the zone." complete:"zone"`
}

// listCommand is queue-server zones list.
type listCommand struct{ deskFlags }

// Run prints all zones.
func (c listCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		reply, err := d.Zones(ctx)
		if err != nil {
			return err
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		if len(reply.Value.Zones) == 0 {
			d.say("There are no zones yet. To make one: queue-server zones create ZONE perMinute=600")
			return nil
		}
		return zoneTable(reply.Value.Zones).print(d.stdout, d.columns())
	})
}

// zoneTable is the zones with those settings that have a column.
func zoneTable(zones []zone.Settings) *table {
	t := &table{columns: []column{{title: "ZONE"}, {title: "STATE"}}}
	for _, x := range zone.Table {
		if x.Column != "" {
			_, number := x.Default.(int64)
			t.columns = append(t.columns, column{title: x.Column, right: number, spare: x.Spare})
		}
	}
	for _, z := range zones {
		row := []string{z.ZoneID, state(z.Mode, z.PerMinute)}
		for i := range zone.Table {
			if x := &zone.Table[i]; x.Column != "" {
				row = append(row, cell(x, z))
			}
		}
		t.add(row...)
	}
	return t
}

// getCommand is queue-server zones get.
type getCommand struct {
	zoneArg
	deskFlags
}

// Run prints one zone, as zones set takes it.
func (c getCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		reply, err := d.Zone(ctx, c.Zone)
		if err != nil {
			return d.about(ctx, c.Zone, err)
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		t := &table{columns: []column{{title: "SETTING"}, {title: "VALUE", right: true}, {title: "MEANS"}}}
		for i := range zone.Table {
			x := &zone.Table[i]
			t.add(x.Name, x.Text(reply.Value), x.Meaning(reply.Value))
		}
		return t.print(d.stdout, d.columns())
	})
}

// assignments is key=value arguments.
type assignments []string

// settings returns what they set, by name, for the server to check.
func (all assignments) settings() (map[string]any, error) {
	given := make(map[string]any, len(all))
	names := zone.Table.Names()
	for _, a := range all {
		name, text, isPair := strings.Cut(a, "=")
		x := zone.Table.Find(name)
		_, twice := given[name]
		var read zone.Settings
		switch {
		case !isPair && x != nil:
			return nil, usage("%s: give it a value: %s=...", a, a)
		case !isPair:
			return nil, usage("%q is no setting; write name=value, such as perMinute=600", a)
		case x == nil:
			return nil, usage("%q is no setting; %s", name, suggest(name, names))
		case twice:
			return nil, usage("%s is given twice", name)
		case x.Parse(&read, text) != nil:
			return nil, usage("%s is %q, must be %s", name, text, x.Kind())
		}
		given[name] = x.Value(read)
	}
	return given, nil
}
