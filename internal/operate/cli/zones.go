package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
	"github.com/openqueue/waitingroom/internal/zone"
)

// listZones is queue-server zones list.
func (c *connection) listZones() *cobra.Command {
	return c.command("list", "All zones and their settings.", func(ctx context.Context, s *session, _ []string) error {
		reply, err := s.Zones(ctx)
		if err != nil || s.json {
			return s.printReply(reply.JSON, err)
		}
		if len(reply.Value.Zones) == 0 {
			s.say("There are no zones yet. To make one: queue-server zones create ZONE perMinute=600")
			return nil
		}
		return s.print(zoneTable(reply.Value.Zones))
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
		most := "-"
		if z.MaxWaiting > 0 {
			most = grouped(z.MaxWaiting)
		}
		t.add(z.ZoneID, state(z.Mode, z.PerMinute), grouped(z.PerMinute), seconds(z.WindowSeconds), grouped(z.Burst),
			seconds(z.IdleTimeoutSeconds), seconds(z.PassTTLSeconds), most, string(z.OnStoreFailure))
	}
	return t
}

// getZone is queue-server zones get. It prints a zone as zones set takes it.
func (c *connection) getZone() *cobra.Command {
	return c.command("get ZONE", "One zone's settings.", func(ctx context.Context, s *session, args []string) error {
		reply, err := s.Zone(ctx, args[0])
		if err != nil || s.json {
			return s.printReply(reply.JSON, s.aboutZone(ctx, args[0], err))
		}
		t := &table{columns: []column{{title: "SETTING"}, {title: "VALUE", right: true}, {title: "MEANS"}}}
		for _, one := range settingsOf(reply.Value) {
			t.add(one.name, fmt.Sprint(one.value), meaning(reply.Value, one.name))
		}
		return s.print(t)
	})
}

// meaning says what a setting does.
func meaning(z zone.Settings, name string) string {
	switch name {
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

// assignments reads arguments such as perMinute=600, for the server to check; numbers
// are numbers, also as people are shown them: 12,340.
func assignments(args []string) (map[string]any, error) {
	given := make(map[string]any, len(args))
	var names []string
	known := make(map[string]any)
	for _, s := range settingsOf(zone.Settings{}) {
		known[s.name] = s.value
		names = append(names, s.name)
	}
	for _, a := range args {
		name, text, isPair := strings.Cut(a, "=")
		_, twice := given[name]
		switch {
		case !isPair && slices.Contains(names, a):
			return nil, Usage("%s: give it a value: %s=...", a, a)
		case !isPair:
			return nil, Usage("%q is no setting; write name=value, such as perMinute=600", a)
		case !slices.Contains(names, name):
			return nil, Usage("%q is no setting; %s", name, strictyaml.Suggest(name, names))
		case twice:
			return nil, Usage("%s is given twice", name)
		}
		given[name] = text
		if _, number := known[name].(int64); number {
			n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
			if err != nil {
				return nil, Usage("%s is %q, must be a whole number", name, text)
			}
			given[name] = n
		}
	}
	return given, nil
}

// createZone is queue-server zones create.
func (c *connection) createZone() *cobra.Command {
	return c.command("create NAME [NAME=VALUE]...", "Make a zone, with settings such as perMinute=600. One that is there already stays as it is.",
		func(ctx context.Context, s *session, args []string) error {
			id := args[0]
			settings, err := assignments(args[1:])
			if err != nil {
				return err
			}
			if !zone.ValidID(id) {
				return Usage("%q cannot be the name of a zone: 1 to 64 of A-Z a-z 0-9 . _ -", id)
			}
			reply, err := s.Create(ctx, id, settings)
			if errors.Is(err, adminclient.ErrConflict) {
				return sentence(err, "zone %s is there already, and stays as it is\nTo change it: queue-server zones set %s NAME=VALUE", id, id)
			}
			if err != nil || s.json {
				return s.printReply(reply.JSON, err)
			}
			s.say("%s is made. %s", id, effect(reply.Value))
			return nil
		})
}

// deleteZone is queue-server zones delete: when the operator has typed its name.
func (c *connection) deleteZone() *cobra.Command {
	var yes bool
	command := c.command("delete ZONE", "Delete a zone, and everybody's place in it.", func(ctx context.Context, s *session, args []string) error {
		id := args[0]
		was, err := s.Zone(ctx, id)
		if err != nil {
			return s.aboutZone(ctx, id, err)
		}
		if !yes {
			stats, err := s.Stats(ctx, id)
			if err != nil {
				return s.aboutZone(ctx, id, err)
			}
			if err := s.confirm(ctx, id, "delete "+id, "%s has %s waiting, who all lose their places for good.\nType the zone's name to delete it: ",
				id, grouped(stats.Value.Waiting)); err != nil {
				return err
			}
		}
		if err := s.Delete(ctx, id, was.Version); err != nil {
			return s.aboutZone(ctx, id, err)
		}
		if s.json {
			text, err := json.Marshal(map[string]any{zoneIDKey: id, "deleted": true})
			return s.printReply(text, err)
		}
		s.say("%s is deleted. To have one with its settings again:\n  queue-server zones create %s%s", id, id,
			assign(differences(zone.Defaults(id), was.Value), func(d difference) any { return d.Now }))
		return nil
	})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command
}
