package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/zone"
)

// watchEvery is how often zones watch asks: the servers sample figures as often.
const watchEvery = time.Second

// clearScreen goes to the screen's first line and clears what is below (ECMA-48).
const clearScreen = "\x1b[H\x1b[J"

// watch is queue-server zones watch.
func (c *connection) watch() *cobra.Command {
	return c.command("zoneStats", "watch [ZONE]...", "The figures of zones, every second, until you end it. Without a name, of all zones.",
		func(ctx context.Context, s *session, args []string) error {
			return s.watch(ctx, args, time.Tick(watchEvery))
		})
}

// watch prints a table of zones at each tick until ctx ends. It goes on while the server or the store is away, unless they
// are away the first time.
func (s *session) watch(ctx context.Context, zones []string, ticks <-chan time.Time) error {
	for first := true; ; first = false {
		text, err := s.look(ctx, zones)
		away := errors.Is(err, adminclient.ErrUnreachable) || errors.Is(err, adminclient.ErrUnavailable)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil && (first || !away):
			return err
		case err != nil:
			text = fmt.Sprintf("%s no figures: %s\nTrying again.", time.Now().Format(time.TimeOnly), harmless(err.Error(), ""))
		}
		switch {
		case s.json && err != nil: // Stdout has JSON alone
			_, _ = fmt.Fprintln(s.Stderr, text)
		case s.Screen && !s.json:
			s.say("%s%s", clearScreen, text)
		case text != "":
			s.say("%s", text)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// look returns a table of zones, of all when none is named; with --json, what the server answers, a line each.
func (s *session) look(ctx context.Context, zones []string) (string, error) {
	all := len(zones) == 0
	if all {
		reply, err := get[operator.Zones](ctx, s, "listZones")
		if err != nil {
			return "", err
		}
		for _, z := range reply.Value.Zones {
			zones = append(zones, z.ZoneID)
		}
	}
	t := &table{titles: []string{"ZONE", "STATE", "WAITING", "WINDOW", "IN 60 S", "USE", "ESTIMATE", "JOINS/M", "POLLS/S", "OVERDUE", "INSIDE"}}
	var answers []string
	for _, name := range zones {
		reply, err := get[operator.Stats](ctx, s, "zoneStats", name)
		switch {
		case err == nil:
			t.add(watchRow(&reply.Value)...)
			answers = append(answers, string(reply.JSON))
		case errors.Is(err, adminclient.ErrUnavailable):
			t.add(append([]string{name, "store away"}, slices.Repeat([]string{"-"}, len(t.titles)-2)...)...)
		case !all || !errors.Is(err, adminclient.ErrNotFound): // else it was deleted meanwhile
			return "", err
		}
	}
	if s.json {
		return strings.Join(answers, "\n"), nil
	}
	return strings.Join(t.lines(), "\n"), nil
}

// watchRow is what an operator looks at while an event goes on.
func watchRow(s *operator.Stats) []string {
	limit, use, estimate, inside := s.WindowLimit, percent(s.WindowUse), millis(s.EstimatedWait), "-"
	if onHold(s) {
		limit, use, estimate = 0, "-", "on hold"
	}
	if s.State == zone.OpeningHeld {
		estimate = "on hold"
	}
	if s.MaxInside > 0 {
		inside = grouped(s.Inside) + "/" + grouped(s.MaxInside)
	}
	return []string{
		s.ZoneID, stateOf(s), grouped(s.Waiting), grouped(s.AdmittedInWindow) + "/" + grouped(limit),
		grouped(s.AdmittedInMinute) + "/" + grouped(s.PerMinute), use, estimate, rate(s.JoinsPerMinute), rate(s.PollsPerSecond),
		grouped(s.Overdue), inside,
	}
}
