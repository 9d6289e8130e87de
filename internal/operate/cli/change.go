package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// made is what a change has made of a zone.
type made struct {
	was zone.Settings
	now adminclient.Reply[zone.Settings]
}

// change sets the settings that wanted returns for those that the zone has now, and returns both. Where others change
// the zone meanwhile, nothing is changed, and the error is adminclient.ErrConflict. Nothing is sent when wanted
// returns none.
func (s *session) change(ctx context.Context, zoneID string, wanted func(was zone.Settings) (map[string]any, error)) (made, error) {
	was, err := get[zone.Settings](ctx, s, "getZone", zoneID)
	if err != nil {
		return made{}, err
	}
	settings, err := wanted(was.Value)
	if err != nil || len(settings) == 0 {
		return made{was.Value, was}, err
	}
	now, err := s.patch(ctx, zoneID, settings, was.Version)
	return made{was.Value, now}, err
}

// printChange prints what a change has done, what that means for the line, and how to undo it.
func (s *session) printChange(ctx context.Context, m made) error {
	if s.json {
		return s.printReply(m.now.JSON, nil)
	}
	now := time.Now()
	changed := change.Differences(zone.Table, m.was, m.now.Value)
	if len(changed) == 0 {
		s.say("%s: nothing to change. %s", m.was.ZoneID, doing(m.was))
		return nil
	}
	s.say("%s is changed:", m.was.ZoneID)
	for _, d := range change.Events(m.was, m.now.Value, changed) {
		s.say("  %v", d)
	}
	effects := change.Zone(m.was, m.now.Value, s.line(ctx, m.was.ZoneID), now)
	for _, said := range effects {
		s.say("%v", said)
	}
	if len(effects) == 0 {
		s.say("%s", doing(m.now.Value))
	}
	if fault := m.now.Value.EventState.ListFault(m.now.Value.Events, m.was.Events, now); fault != "" && !zone.Table.Find(eventsKey).Same(m.was, m.now.Value) {
		s.say("The list of before cannot be set again: event %s", fault)
		changed = slices.DeleteFunc(changed, func(d change.Difference) bool { return d.Name == eventsKey })
	}
	if undo := assign(changed, func(d change.Difference) string { return d.WasText }); undo != "" {
		s.say("To undo: queue-server zones set %s%s", m.was.ZoneID, undo)
	}
	return nil
}

// line is what the server knows of a zone's line; nothing where it cannot say.
func (s *session) line(ctx context.Context, zoneID string) change.Line {
	stats, err := get[operator.Stats](ctx, s, "zoneStats", zoneID)
	return change.Line{Known: err == nil, Waiting: stats.Value.Waiting, EstimateMillis: stats.Value.EstimatedWait}
}

// doing says what a zone does now.
func doing(z zone.Settings) string {
	_, sentence := change.Doing(z)
	return sentence
}

// changeZone returns a command that changes a zone: its first argument.
func (c *connection) changeZone(use, short string,
	wanted func(ctx context.Context, s *session, args []string, was zone.Settings) (map[string]any, error),
) *cobra.Command {
	return c.command("patchZone", use, short, func(ctx context.Context, s *session, args []string) error {
		m, err := s.change(ctx, args[0], func(was zone.Settings) (map[string]any, error) { return wanted(ctx, s, args[1:], was) })
		if err != nil {
			return err
		}
		return s.printChange(ctx, m)
	})
}

// setZone is queue-server zones set.
func (c *connection) setZone() *cobra.Command {
	return c.changeZone("set ZONE NAME=VALUE...", "Change the settings that you name, such as perMinute=600 mode=closed, and no others.",
		func(_ context.Context, _ *session, args []string, _ zone.Settings) (map[string]any, error) {
			return assignments(args, new(zone.Settings))
		})
}

// setTo is a command that changes one setting to one value: zones pause, open and close.
func (c *connection) setTo(use, short, name string, value any) *cobra.Command {
	return c.changeZone(use, short, func(context.Context, *session, []string, zone.Settings) (map[string]any, error) {
		return map[string]any{name: value}, nil
	})
}

// resume is queue-server zones resume.
func (c *connection) resume() *cobra.Command {
	return c.changeZone("resume ZONE", "Undo a pause: the limit that the record of changes has from before.",
		func(ctx context.Context, s *session, _ []string, was zone.Settings) (map[string]any, error) {
			if was.PerMinute > 0 {
				return nil, nil
			}
			limit, err := s.limitBefore(ctx, &was)
			return map[string]any{perMinuteKey: limit}, err
		})
}

// limitBefore returns the limit that a paused zone had before, from the record.
func (s *session) limitBefore(ctx context.Context, paused *zone.Settings) (int64, error) {
	reply, err := s.changes(ctx, paused.ZoneID, "", zone.MaxChanges)
	if err != nil {
		return 0, err
	}
	for _, c := range reply.Value.Zones {
		if c.Was == nil || c.Now == nil {
			break // what was before is another zone of that name
		}
		if limit := paused.PausedFrom(c.Was, c.Now); limit > 0 {
			return limit, nil
		}
	}
	return 0, Usage("the record of changes does not say what %s admitted before; say it: queue-server zones set %s perMinute=N",
		paused.ZoneID, paused.ZoneID)
}
