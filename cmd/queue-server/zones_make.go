package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// createCommand is queue-server zones create.
type createCommand struct {
	Zone     string   `arg:"" help:"Name of the new zone: 1 to 64 of A-Z a-z 0-9 . _ -"`
	Settings []string `arg:"" optional:"" help:"Such as perMinute=600; what is left out has its default." placeholder:"NAME=VALUE" complete:"setting"`
	deskFlags
}

// Run makes a zone.
func (c createCommand) Run(ctx context.Context, at *surroundings) error {
	settings, err := assignments(c.Settings).settings()
	if err != nil {
		return err
	}
	if !zone.ValidID(c.Zone) {
		return usage("%q cannot be the name of a zone: 1 to 64 of A-Z a-z 0-9 . _ -", c.Zone)
	}
	return c.at(at, func(d *desk) error {
		reply, err := d.Create(ctx, c.Zone, settings)
		if errors.Is(err, adminclient.ErrConflict) {
			return sentence(err, "zone %s is there already, and stays as it is\nTo change it: queue-server zones set %s NAME=VALUE", c.Zone, c.Zone)
		}
		if err != nil {
			return err
		}
		if d.json {
			return d.printJSON(reply.JSON)
		}
		d.say("%s is made. %s", c.Zone, effect(reply.Value))
		return nil
	})
}

// deleteCommand is queue-server zones delete.
type deleteCommand struct {
	zoneArg
	Yes bool `short:"y" help:"Do not ask."`
	deskFlags
}

// Run deletes a zone, when the operator has typed its name.
func (c deleteCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		was, err := d.Zone(ctx, c.Zone)
		if err != nil {
			return d.about(ctx, c.Zone, err)
		}
		if !c.Yes {
			if err := d.confirmDelete(ctx, c.Zone); err != nil {
				return err
			}
		}
		if err := d.Delete(ctx, c.Zone, was.Version); err != nil {
			return d.about(ctx, c.Zone, err)
		}
		if d.json {
			text, err := json.Marshal(map[string]any{zone.IDName: c.Zone, "deleted": true})
			if err != nil {
				return err
			}
			return d.printJSON(text)
		}
		d.say("%s is deleted. To have one with its settings again:\n  %s", c.Zone, createLine(was.Value))
		return nil
	})
}

// errNotConfirmed: who was asked did not say yes.
var errNotConfirmed = errors.New("not confirmed: nothing was changed")

// confirmDelete asks for the zone's name.
func (d *desk) confirmDelete(ctx context.Context, zoneID string) error {
	reply, err := d.Stats(ctx, zoneID)
	if err != nil {
		return d.about(ctx, zoneID, err)
	}
	typed, err := d.ask(ctx, "%s has %s waiting, who all lose their places for good.\nType the zone's name to delete it: ",
		zoneID, grouped(reply.Value.Waiting))
	switch {
	case errors.Is(err, errNobody):
		return usage("%w: say --yes to delete %s", err, zoneID)
	case err != nil:
		return err
	case typed != zoneID:
		return errNotConfirmed
	}
	return nil
}

// createLine is the command that makes a zone with these settings.
func createLine(z zone.Settings) string {
	return "queue-server zones create " + z.ZoneID +
		assign(differences(zone.Defaults(z.ZoneID), z), func(s difference) zone.Settings { return s.now })
}
