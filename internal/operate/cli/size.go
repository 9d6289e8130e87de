package cli

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/zone"
)

// carried is how many who wait a server of two cores carries at half of its load: see "What that carries" in
// docs/engineering/performance.md.
const carried = 500_000

// sizing are the answers from which a zone's settings follow.
type sizing struct {
	// orders an hour is what the site can take; buys is the percentage of those admitted who order something; minutes is how long one of
	// them stays; visitors come at once.
	orders, buys, minutes, visitors float64
}

// sizeCommand is queue-server size.
func sizeCommand(t *Terminal) *cobra.Command {
	var s sizing
	questions := []struct {
		flag, question string
		value          *float64
		least, most    float64
	}{
		{"orders", "How many orders an hour can the site take", &s.orders, 1, 1e8},
		{"buy", "What percentage of the admitted visitors order something", &s.buys, 0.1, 100},
		{"minutes", "How many minutes does a visitor stay", &s.minutes, 1, 1440},
		{"visitors", "How many visitors come at once", &s.visitors, 1, 1e7},
	}
	command := &cobra.Command{
		Use: "size", Short: "Work out a zone's settings: asks four questions, and prints the zone as YAML.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, q := range questions {
				if !cmd.Flags().Changed(q.flag) {
					if err := t.askNumber(cmd.Context(), q.question, q.value); err != nil {
						return Usage("--%s is missing: %s? (%w)", q.flag, strings.ToLower(q.question[:1])+q.question[1:], err)
					}
				}
				if v := *q.value; !(v >= q.least && v <= q.most) {
					return Usage("--%s is %g, must be between %g and %g", q.flag, v, q.least, q.most)
				}
			}
			s.print(t)
			return nil
		},
	}
	for _, q := range questions {
		command.Flags().Float64Var(q.value, q.flag, 0, strings.ToLower(q.question[:1])+q.question[1:])
	}
	return command
}

// askNumber asks a question that a number answers.
func (t *Terminal) askNumber(ctx context.Context, question string, value *float64) error {
	text, err := t.ask(ctx, "%s? ", question)
	if err != nil {
		return err
	}
	if *value, err = strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64); err != nil {
		return errors.New("not a number")
	}
	return nil
}

// print prints the zone, and what follows from it. perMinute is the orders a minute over the share that orders. maxInside is what
// Little's law says of that rate and the stay, and a fifth more for sessions that nobody uses any more.
func (s sizing) print(t *Terminal) {
	perMinute := min(zone.MaxPerMinute, max(1, math.Floor(s.orders/60/(s.buys/100))))
	inside := min(zone.MaxMaxInside, math.Ceil(perMinute*s.minutes*1.2))
	session := min(zone.MaxSessionSeconds, max(zone.MinSessionSeconds, math.Ceil(s.minutes)*60))
	t.say("zones:")
	t.say("  - zoneId: SHOP")
	t.say("    perMinute: %-10.0f # %g orders an hour, %g %% of the admitted visitors order", perMinute, s.orders, s.buys)
	t.say("    maxInside: %-10.0f # %.0f a minute, each for %g minutes, and a fifth more", inside, perMinute, s.minutes)
	t.say("    sessionSeconds: %-5.0f # renewed while a visitor goes on asking", session)
	t.say("# Of %.0f visitors who come at once, the last is admitted after %.0f minutes, sooner if some leave.", s.visitors, math.Ceil(s.visitors/perMinute))
	t.say("# Servers of two cores: %.0f, for the line alone and one that may fail; Redis: one master and a replica.", max(2, math.Ceil(s.visitors/carried)+1))
	t.say("# Try it: queue-server simulate perMinute=%.0f maxInside=%.0f sessionSeconds=%.0f --visitors %.0f --stay %gm", perMinute, inside, session, min(s.visitors, 5e6), s.minutes)
}
