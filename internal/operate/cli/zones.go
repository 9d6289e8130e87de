package main

import (
	"context"
	"fmt"
	"slices"
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

// zoneTable is the zones with those settings that are looked at most.
func zoneTable(zones []zone.Settings) *table {
	t := &table{columns: []column{
		{title: "ZONE"},
		{title: "STATE"},
		{title: "PER MINUTE", right: true},
		{title: "WINDOW", right: true},
		{title: "BURST", right: true, spare: 3},
		{title: "IDLE", right: true, spare: 2},
		{title: "PASS", right: true, spare: 4},
		{title: "MAX WAITING", right: true, spare: 1},
		{title: "OUTAGE", spare: 5},
	}}
	for _, z := range zones {
		t.add(z.ZoneID, state(z.Mode, z.PerMinute), grouped(z.PerMinute), seconds(z.WindowSeconds), grouped(z.Burst),
			seconds(z.IdleTimeoutSeconds), seconds(z.PassTTLSeconds), maxWaiting(z.MaxWaiting), string(z.OnStoreFailure))
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
		for _, s := range settingsOf(reply.Value) {
			t.add(s.name, s.text(), meaning(reply.Value, s))
		}
		return t.print(d.stdout, d.columns())
	})
}

// meaning says what a setting does.
func meaning(z zone.Settings, s setting) string {
	switch s.name {
	case "perMinute":
		if z.PerMinute == 0 {
			return "nobody is let in"
		}
		return "most admissions in any 60 s"
	case "mode":
		return map[zone.Mode]string{
			zone.ModeQueue:  "let in at the limit, line up the rest",
			zone.ModeOpen:   "everybody is let in, and counted",
			zone.ModeClosed: "no newcomers; those who wait go on",
		}[z.Mode]
	case "windowSeconds":
		limit := (z.PerMinute*z.WindowSeconds + 59) / 60
		return fmt.Sprintf("most in any %s: %s", seconds(z.WindowSeconds), grouped(limit))
	case "burst":
		return "more in a window, while nobody waits"
	case "idleTimeoutSeconds":
		return "who is silent for longer loses the place"
	case "passTtlSeconds":
		return "how long a pass is good for: " + seconds(z.PassTTLSeconds)
	case "maxWaiting":
		if z.MaxWaiting == 0 {
			return "as many may wait as come"
		}
		return "newcomers get 429 at so many waiting"
	case "onStoreFailure":
		if z.OnStoreFailure == zone.FailureAdmit {
			return "each server lets in its share"
		}
		return "answer 503, keep the place"
	}
	return ""
}

// assignments is key=value arguments.
type assignments []string

// settings returns what they set, by name, for the server to check; numbers are
// numbers.
func (all assignments) settings() (map[string]any, error) {
	given := make(map[string]any, len(all))
	known := make(map[string]any)
	var names []string
	for _, s := range settingsOf(zone.Settings{}) {
		known[s.name] = s.value
		names = append(names, s.name)
	}
	for _, a := range all {
		name, text, isPair := strings.Cut(a, "=")
		kind, isKnown := known[name]
		_, twice := given[name]
		switch {
		case !isPair && slices.Contains(names, a):
			return nil, usage("%s: give it a value: %s=...", a, a)
		case !isPair:
			return nil, usage("%q is no setting; write name=value, such as perMinute=600", a)
		case !isKnown:
			return nil, usage("%q is no setting; %s", name, suggest(name, names))
		case twice:
			return nil, usage("%s is given twice", name)
		}
		given[name] = text
		if _, number := kind.(int64); number {
			n, err := wholeNumber(text)
			if err != nil {
				return nil, usage("%s is %q, must be a whole number", name, text)
			}
			given[name] = n
		}
	}
	return given, nil
}
