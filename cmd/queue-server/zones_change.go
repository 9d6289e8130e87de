package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// maxTries bounds how often a change is put on top of others' changes. Whoever
// loses five times in a row has met a script, and should know.
const maxTries = 5

// wholeNumber reads 12340, and 12,340 as people are shown it.
func wholeNumber(text string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
}

// change is what was made of a zone.
type change struct {
	was zone.Settings
	now adminclient.Reply[zone.Settings]
}

// change sets the settings that wanted returns for those that the zone has now,
// and returns both. What others change meanwhile is not lost, and is not told
// as what this command has done. Nothing is sent when wanted returns none.
func (d *desk) change(ctx context.Context, zoneID string, wanted func(was zone.Settings) (map[string]any, error)) (change, error) {
	for try := 1; ; try++ {
		was, err := d.Zone(ctx, zoneID)
		if err != nil {
			return change{}, d.about(ctx, zoneID, err)
		}
		settings, err := wanted(was.Value)
		if err != nil {
			return change{}, err
		}
		if len(settings) == 0 {
			return change{was.Value, was}, nil
		}
		now, err := d.Change(ctx, zoneID, settings, was.Version)
		switch {
		case err == nil:
			return change{was.Value, now}, nil
		case errors.Is(err, adminclient.ErrConflict) && try < maxTries:
		default:
			return change{}, d.about(ctx, zoneID, err)
		}
	}
}

// tell prints what a change has done, and how to undo it. effect is a sentence
// about the zone as it is now.
func (d *desk) tell(c change, effect string) error {
	if d.json {
		return d.printJSON(c.now.JSON)
	}
	changed := differences(c.was, c.now.Value)
	if len(changed) == 0 {
		d.say("%s: nothing to change. %s", c.was.ZoneID, effect)
		return nil
	}
	d.say("%s: %s", c.was.ZoneID, effect)
	for _, s := range changed {
		d.say("  %v", s)
	}
	d.say("To undo: queue-server zones set %s%s", c.was.ZoneID, assign(changed, func(s difference) any { return s.was }))
	return nil
}

// effect says what a zone does now.
func effect(z zone.Settings) string {
	switch {
	case z.Mode == zone.ModeOpen:
		return "Everybody is let in."
	case z.PerMinute == 0:
		return "Nobody is let in; everybody keeps the place."
	case z.Mode == zone.ModeClosed:
		return fmt.Sprintf("Newcomers are turned away; those who wait are let in, %s a minute.", grouped(z.PerMinute))
	}
	return fmt.Sprintf("%s a minute are let in.", grouped(z.PerMinute))
}

// setCommand is queue-server zones set.
type setCommand struct {
	zoneArg
	Changes []string `arg:"" help:"Such as perMinute=600 mode=closed." placeholder:"NAME=VALUE" complete:"setting"`
	deskFlags
}

// Run changes what is named, and prints what it was.
func (c setCommand) Run(ctx context.Context, at *surroundings) error {
	settings, err := assignments(c.Changes).settings()
	if err != nil {
		return err
	}
	return c.at(at, func(d *desk) error {
		made, err := d.change(ctx, c.Zone, func(zone.Settings) (map[string]any, error) { return settings, nil })
		if err != nil {
			return err
		}
		return d.tell(made, effect(made.now.Value))
	})
}

// setMode sets the mode, and tells.
func (d *desk) setMode(ctx context.Context, zoneID string, mode zone.Mode) error {
	made, err := d.change(ctx, zoneID, func(zone.Settings) (map[string]any, error) {
		return map[string]any{"mode": mode}, nil
	})
	if err != nil {
		return err
	}
	return d.tell(made, effect(made.now.Value))
}

// openCommand is queue-server zones open.
type openCommand struct {
	zoneArg
	deskFlags
}

// Run lets everybody in.
func (c openCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error { return d.setMode(ctx, c.Zone, zone.ModeOpen) })
}

// closeCommand is queue-server zones close.
type closeCommand struct {
	zoneArg
	deskFlags
}

// Run turns newcomers away.
func (c closeCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error { return d.setMode(ctx, c.Zone, zone.ModeClosed) })
}

// pauseCommand is queue-server zones pause.
type pauseCommand struct {
	zoneArg
	deskFlags
}

// Run lets nobody in any more, and prints how to undo it.
func (c pauseCommand) Run(ctx context.Context, at *surroundings) error {
	return c.at(at, func(d *desk) error {
		made, err := d.change(ctx, c.Zone, func(was zone.Settings) (map[string]any, error) {
			if was.PerMinute == 0 {
				return nil, nil
			}
			return map[string]any{perMinuteKey: 0}, nil
		})
		switch {
		case err != nil:
			return err
		case d.json:
			return d.printJSON(made.now.JSON)
		case made.was.PerMinute == 0:
			d.say("%s is paused already. To let people in: queue-server zones resume %s", c.Zone, c.Zone)
		default:
			d.say("%s is paused. %s", c.Zone, pauseEffect(made.now.Value))
			d.say("  perMinute %d -> 0", made.was.PerMinute)
			d.say("To undo: queue-server zones resume %s --per-minute %d", c.Zone, made.was.PerMinute)
		}
		return nil
	})
}

// pauseEffect warns where a pause holds nobody.
func pauseEffect(z zone.Settings) string {
	if z.Mode == zone.ModeOpen {
		return "BUT ITS MODE IS open, and everybody is let in: see queue-server zones set " + z.ZoneID + " mode=queue"
	}
	return effect(z)
}

// perMinuteKey is the limit's name.
const perMinuteKey = "perMinute"

// resumeCommand is queue-server zones resume.
type resumeCommand struct {
	zoneArg
	PerMinute int64 `placeholder:"N" help:"The limit; the last one that was not 0, from the record of changes, when absent."`
	deskFlags
}

// Run lets people in again.
func (c resumeCommand) Run(ctx context.Context, at *surroundings) error {
	if c.PerMinute < 0 {
		return usage("--per-minute is %d, must be 1 or more", c.PerMinute)
	}
	return c.at(at, func(d *desk) error {
		made, err := d.change(ctx, c.Zone, func(was zone.Settings) (map[string]any, error) {
			if c.PerMinute > 0 {
				return map[string]any{perMinuteKey: c.PerMinute}, nil
			}
			if was.PerMinute > 0 {
				return nil, nil
			}
			limit, err := d.limitBefore(ctx, c.Zone)
			return map[string]any{perMinuteKey: limit}, err
		})
		if err != nil {
			return err
		}
		return d.tell(made, effect(made.now.Value))
	})
}

// limitBefore returns the limit that a paused zone had before, from the record.
func (d *desk) limitBefore(ctx context.Context, zoneID string) (int64, error) {
	reply, err := d.Changes(ctx, zoneID, zone.MaxChanges)
	if err != nil {
		return 0, err
	}
	for _, c := range reply.Value.Changes {
		if c.Was == nil || c.Now == nil {
			break // what was before is another zone of that name
		}
		if c.Was.PerMinute > 0 {
			return c.Was.PerMinute, nil
		}
	}
	return 0, usage("the record of changes does not say what %s let in before; say it: queue-server zones resume %s --per-minute N",
		zoneID, zoneID)
}
