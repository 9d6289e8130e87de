package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/zone"
)

// maxTries bounds how often a change is put on top of others' changes. Whoever
// loses five times in a row has met a script, and should know.
const maxTries = 5

// change is what was made of a zone.
type change struct {
	was zone.Settings
	now adminclient.Reply[zone.Settings]
}

// change sets the settings that wanted returns for those that the zone has now,
// and returns both. What others change meanwhile is not lost, and is not told
// as what this command has done. Nothing is sent when wanted returns none.
func (s *session) change(ctx context.Context, zoneID string, wanted func(was zone.Settings) (map[string]any, error)) (change, error) {
	for try := 1; ; try++ {
		was, err := s.Zone(ctx, zoneID)
		if err != nil {
			return change{}, s.aboutZone(ctx, zoneID, err)
		}
		settings, err := wanted(was.Value)
		if err != nil {
			return change{}, err
		}
		if len(settings) == 0 {
			return change{was.Value, was}, nil
		}
		now, err := s.Change(ctx, zoneID, settings, was.Version)
		switch {
		case err == nil:
			return change{was.Value, now}, nil
		case errors.Is(err, adminclient.ErrConflict) && try < maxTries:
		default:
			return change{}, s.aboutZone(ctx, zoneID, err)
		}
	}
}

// tell prints what a change has done, and how to undo it.
func (s *session) tell(c change) error {
	now := time.Now()
	effect := effect(c.now.Value.Listed(now))
	if s.json {
		return s.printReply(c.now.JSON, nil)
	}
	changed := differences(c.was, c.now.Value)
	if len(changed) == 0 {
		s.say("%s: nothing to change. %s", c.was.ZoneID, effect)
		return nil
	}
	s.say("%s: %s", c.was.ZoneID, effect)
	for _, d := range changed {
		s.say("  %v", d)
	}
	if events := zone.Table.Find(eventsKey); !events.Same(c.was, c.now.Value) {
		for _, text := range eventLines(&c.was, c.now.Value, now) {
			s.say("  %s", text)
		}
		if fault := event.ChangeFault(c.now.Value.Events, c.was.Events, now); fault != "" {
			s.say("The list of before cannot be set again: event %s", fault)
			changed = slices.DeleteFunc(changed, func(d difference) bool { return d.Name == eventsKey })
		}
	}
	s.sayOverridden(c)
	if len(c.now.Value.SoldOut) > 0 && len(c.was.SoldOut) == 0 {
		s.say("Who polls from now on stops asking: after an undo, they come back only by reloading the page or the app.")
	}
	if undo := assign(changed, func(d difference) string { return d.was }); undo != "" {
		s.say("To undo: queue-server zones set %s%s", c.was.ZoneID, undo)
	}
	return nil
}

// sayOverridden warns of what the event that comes next sets otherwise.
func (s *session) sayOverridden(c change) {
	then, settings, step, at := c.now.Value.Overridden(c.was)
	for _, x := range settings {
		name := c.now.Value.EventState.Now.Event.Name
		when := "once its " + string(step) + " is held no more"
		if at != event.Never {
			when = fmt.Sprintf("at %s; to stop that: queue-server events hold %s %s %s (then nobody gathers, and it does not open)",
				time.UnixMilli(at).UTC().Format(time.RFC3339), c.was.ZoneID, name, step)
		}
		s.say("BUT EVENT %s sets %s=%s %s", name, x.Name, x.Text(then), when)
	}
}

// effect says what a zone does now.
func effect(z zone.Settings) string {
	gathers, _ := z.Unopened(false)
	switch {
	case len(z.SoldOut) > 0:
		return "Sold out: nobody is let in, and who polls or comes is told why."
	case gathers != "" && z.Mode == zone.ModeOpen:
		return fmt.Sprintf("Nobody is let in before %s opens; then everybody is, at once, whatever the limit.", gathers)
	case z.Mode == zone.ModeOpen:
		return "Everybody is let in."
	case z.PerMinute == 0 || gathers != "":
		text := "Nobody is let in"
		if z.Mode == zone.ModeClosed {
			text = "Newcomers are turned away, and nobody is let in"
		}
		switch {
		case gathers != "" && z.PerMinute == 0:
			text += ", nor once " + gathers + " opens"
		case gathers != "":
			text += " before " + gathers + " opens"
		}
		return text + "; everybody keeps the place."
	case z.Mode == zone.ModeClosed:
		return fmt.Sprintf("Newcomers are turned away; those who wait are let in, %s a minute.", grouped(z.PerMinute))
	}
	return fmt.Sprintf("%s a minute are let in.", grouped(z.PerMinute))
}

// changeZone returns a command that changes a zone: its first argument.
func (c *connection) changeZone(use, short string,
	wanted func(ctx context.Context, s *session, args []string, was zone.Settings) (map[string]any, error),
) *cobra.Command {
	return c.command(use, short, func(ctx context.Context, s *session, args []string) error {
		made, err := s.change(ctx, args[0], func(was zone.Settings) (map[string]any, error) { return wanted(ctx, s, args[1:], was) })
		if err != nil {
			return err
		}
		return s.tell(made)
	})
}

// setZone is queue-server zones set.
func (c *connection) setZone() *cobra.Command {
	return c.changeZone("set ZONE NAME=VALUE...", "Change the settings that you name, such as perMinute=600 mode=closed, and no others.",
		func(_ context.Context, _ *session, args []string, _ zone.Settings) (map[string]any, error) {
			return assignments(args)
		})
}

// setMode is queue-server zones open, and close.
func (c *connection) setMode(name, short string, mode zone.Mode) *cobra.Command {
	return c.changeZone(name+" ZONE", short,
		func(context.Context, *session, []string, zone.Settings) (map[string]any, error) {
			return map[string]any{"mode": mode}, nil
		})
}

// pause is queue-server zones pause.
func (c *connection) pause() *cobra.Command {
	return c.command("pause ZONE", "Let nobody in: perMinute 0. Everybody keeps the place.", func(ctx context.Context, s *session, args []string) error {
		id := args[0]
		made, err := s.change(ctx, id, func(was zone.Settings) (map[string]any, error) {
			if was.PerMinute == 0 {
				return nil, nil
			}
			return map[string]any{perMinuteKey: 0}, nil
		})
		switch {
		case err != nil || s.json:
			return s.printReply(made.now.JSON, err)
		case made.was.PerMinute == 0 && made.was.Mode == zone.ModeOpen:
			s.say("%s is paused already. %s", id, pauseEffect(made.was))
		case made.was.PerMinute == 0:
			s.say("%s is paused already. To let people in: queue-server zones resume %s", id, id)
		default:
			s.say("%s is paused. %s", id, pauseEffect(made.now.Value))
			s.say("  perMinute %d -> 0", made.was.PerMinute)
			s.sayOverridden(made)
			s.say("To undo: queue-server zones resume %s --per-minute %d", id, made.was.PerMinute)
		}
		return nil
	})
}

// pauseEffect warns where a pause holds nobody.
func pauseEffect(z zone.Settings) string {
	if z.Mode != zone.ModeOpen || len(z.SoldOut) > 0 {
		return effect(z)
	}
	text := "BUT ITS MODE IS open, and everybody is let in"
	if gathers, _ := z.Unopened(false); gathers != "" {
		text += " once " + gathers + " opens"
	}
	return text + ": see queue-server zones set " + z.ZoneID + " mode=queue"
}

// resume is queue-server zones resume.
func (c *connection) resume() *cobra.Command {
	var perMinute int64
	command := c.changeZone("resume ZONE", "Undo a pause: the limit that the record of changes has from before.",
		func(ctx context.Context, s *session, _ []string, was zone.Settings) (map[string]any, error) {
			switch {
			case perMinute < 0:
				return nil, Usage("--per-minute is %d, must be 1 or more", perMinute)
			case perMinute > 0:
				return map[string]any{perMinuteKey: perMinute}, nil
			case was.PerMinute > 0:
				return nil, nil
			}
			limit, err := s.limitBefore(ctx, &was)
			return map[string]any{perMinuteKey: limit}, err
		})
	command.Flags().Int64Var(&perMinute, "per-minute", 0, "`N`, the limit; the last one that was not 0, from the record of changes, when absent")
	return command
}

// limitBefore returns the limit that a paused zone had before, from the record.
func (s *session) limitBefore(ctx context.Context, paused *zone.Settings) (int64, error) {
	reply, err := s.Changes(ctx, paused.ZoneID, zone.MaxChanges)
	if err != nil {
		return 0, err
	}
	for _, c := range reply.Value.Changes {
		if c.Was == nil || c.Now == nil {
			break // what was before is another zone of that name
		}
		if limit := paused.PausedFrom(c.Was, c.Now); limit > 0 {
			return limit, nil
		}
	}
	return 0, Usage("the record of changes does not say what %s let in before; say it: queue-server zones resume %s --per-minute N",
		paused.ZoneID, paused.ZoneID)
}
