package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/operate/simulate/sale"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventFlags are those of simulate --event.
type eventFlags struct {
	file, zone, name, gather string
	after                    int
	outage                   time.Duration
}

// add adds them.
func (e *eventFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&e.file, "event", "", "play an event of the zone in this YAML `FILE` instead, as planned and with the store away at the opening;\n"+
		"--visitors gather, in the --arrive before people settle (10m), and --leave")
	flags.StringVar(&e.zone, "zone", "", "with --event, the `ZONE`, if the file has several with events")
	flags.StringVar(&e.name, "name", "", "with --event, the `NAME` of the event, if it is not the first to open")
	flags.StringVar(&e.gather, "gather", string(sale.Evenly), "with --event, how they come: evenly, early (all in the first 10 s) or late (the later, the more)")
	flags.IntVar(&e.after, "after", 0, "with --event, how many come behind them, in the two minutes after people settle")
	flags.DurationVar(&e.outage, "outage", sale.DefaultOutage, "with --event, how long the store is away in the second run; 0: no such run")
	CompleteFiles(command, "event")
	completeOf(command, "gather", sale.Arrivals)
}

// completeOf has shells complete a flag that has few values.
func completeOf[T ~string](command *cobra.Command, flag string, values []T) {
	var names []string
	for _, v := range values {
		names = append(names, string(v))
	}
	// The only error is that there is no such flag, or that it is done already.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// run plays the event, once as planned and once with the store away.
func (e *eventFlags) run(cmd *cobra.Command, t *Terminal, f *crowdFlags, asJSON bool, fileKeys []string) error {
	for _, name := range []string{"per-minute", "window", "max-per-second", "burst", "idle-timeout", "dark", "poll", "crowds"} {
		if cmd.Flags().Changed(name) {
			return Usage("--%s is not for --event: the zone's settings are in the file", name)
		}
	}
	z, err := e.read(t, fileKeys)
	if err != nil {
		return UsageError{err}
	}
	const percent = 100
	c := sale.Config{
		Zone: z, Event: e.name, Gather: f.visitors, Within: sale.DefaultWithin, Arrive: sale.Arrival(e.gather),
		After: e.after, Leave: f.leave / percent, Outage: e.outage, Seed: f.seed,
	}
	if cmd.Flags().Changed("arrive") {
		c.Within = f.arrive
	}
	if err := c.Validate(); err != nil {
		return UsageError{err}
	}
	reports, err := sale.Both(cmd.Context(), c)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped before the last one was in")
	case err != nil:
		return err
	case !asJSON:
		return sale.Print(t.Stdout, reports...)
	}
	enc := json.NewEncoder(t.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(reports)
}

// read returns the zone of the file that has the event.
func (e *eventFlags) read(t *Terminal, fileKeys []string) (zone.Settings, error) {
	text, err := t.readFile(e.file)
	if err != nil {
		return zone.Settings{}, err
	}
	file, err := configfile.Parse(e.file, text, fileKeys)
	if err != nil {
		return zone.Settings{}, err
	}
	all := slices.DeleteFunc(file.Zones, func(z zone.Settings) bool {
		return len(z.Events) == 0 || e.zone != "" && z.ZoneID != e.zone
	})
	switch len(all) {
	case 0:
		return zone.Settings{}, fmt.Errorf("%s has no such zone with events", e.file)
	case 1:
		return all[0], nil
	}
	var names []string
	for _, z := range all {
		names = append(names, z.ZoneID)
	}
	return zone.Settings{}, fmt.Errorf("%s has several zones with events; say --zone %s", e.file, strings.Join(names, " or --zone "))
}
