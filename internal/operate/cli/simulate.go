package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// hundred makes a share of a percentage.
const hundred = 100

// dryRun are the flags of queue-server simulate.
type dryRun struct {
	simulate.Config
	// leave, dark and done are percentages.
	leave, dark, done float64
	// file has the zone of the event that is played; "": no event is. zoneID chooses of several.
	file, zoneID string
	// site is the text of Site.
	site string
	json bool
}

// simulateCommand is queue-server simulate: a dry run, and the evidence for what the room promises.
func simulateCommand(t *Terminal, fileKeys []string) *cobra.Command {
	var d dryRun
	command := &cobra.Command{
		Use: "simulate [" + settingArg + "]...", Short: "Run a crowd through a zone in virtual time, and print what the room did.",
		ValidArgsFunction: func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return completeSetting(word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			play := d.crowd
			if d.file != "" {
				play = func(cmd *cobra.Command, args []string) (printed, error) { return d.playEvent(cmd, t, args, fileKeys) }
			}
			out, err := play(cmd, args)
			switch {
			case errors.Is(err, context.Canceled):
				return errors.New("stopped before the last one was in")
			case errors.Is(err, simulate.ErrConfig), errors.Is(err, zone.ErrInvalid):
				return UsageError{err}
			case err != nil:
				return err
			case d.json:
				enc := json.NewEncoder(t.Stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(out)
			}
			return out.Print(t.Stdout)
		},
	}
	flags := command.Flags()
	flags.IntVar(&d.Visitors, "visitors", 20_000, "how many come, 1 to 5,000,000")
	flags.DurationVar(&d.Arrive, "arrive", 5*time.Second, "the span over which they come")
	flags.Float64Var(&d.leave, "leave", 35, "percent that go away silently, each at a random moment of its wait")
	flags.Float64Var(&d.dark, "dark", 5, "percent that are silent once, and come back")
	flags.DurationSliceVar(&d.DarkFor, "dark-for", []time.Duration{5 * time.Second, 50 * time.Second}, "for how long they are silent, at least and at most")
	flags.DurationVar(&d.Stay, "stay", 5*time.Minute, "in a zone with maxInside, how long a visitor stays inside, on average")
	flags.Float64Var(&d.done, "done", 0, "in a zone with maxInside, percent of visitors whose end of visit the shop reports")
	flags.StringVar(&d.site, "site", "", "in a zone with maxInside, a model of the site: \"200 at a time, 40 ms\"; with pilot=steer,\n"+
		"pilotMin and pilotMax the autopilot steers by it")
	flags.Uint64Var(&d.Seed, "seed", 1, "the same seed gives the same run")
	flags.BoolVar(&d.json, "json", false, "print the report as JSON")
	flags.StringVar(&d.file, "event", "", "play an event of the zone in this YAML `FILE` instead;\n"+
		"--visitors gather, in the --arrive before people settle (10m), and --leave")
	flags.StringVar(&d.zoneID, "zone", "", "with --event, the `ZONE`, if the file has several with events")
	flags.StringVar(&d.Event, "name", "", "with --event, the `NAME` of the event, if it is not the first to open")
	CompleteFiles(command, "event")
	return command
}

// printed is what a run showed.
type printed interface{ Print(w io.Writer) error }

// crowd plays a crowd in a zone with the settings that args name.
func (d *dryRun) crowd(cmd *cobra.Command, args []string) (printed, error) {
	d.Zone = zone.Defaults("SIMULATED")
	d.Zone.PerMinute = 2000
	if _, err := assignments(args, &d.Zone); err != nil {
		return nil, err
	}
	if d.site != "" {
		site, err := pilot.ReadSite(d.site)
		if err != nil {
			return nil, UsageError{err}
		}
		d.Site = site
	}
	d.Leave, d.Dark, d.Done = d.leave/hundred, d.dark/hundred, d.done/hundred
	return simulate.Run(cmd.Context(), d.Config)
}

// playEvent plays an event of the zone in a file, with those settings of it that args name.
func (d *dryRun) playEvent(cmd *cobra.Command, t *Terminal, args, fileKeys []string) (printed, error) {
	if cmd.Flags().Changed("dark") || cmd.Flags().Changed("dark-for") {
		return nil, Usage("--dark and --dark-for are not for --event")
	}
	if d.site != "" {
		return nil, Usage("--site is not for --event")
	}
	z, err := d.readZone(t, fileKeys)
	if err != nil {
		return nil, UsageError{err}
	}
	if _, err := assignments(args, &z); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("arrive") {
		d.Arrive = simulate.DefaultGathering
	}
	d.Zone, d.Leave, d.Done = z, d.leave/hundred, d.done/hundred
	return simulate.PlayEvent(cmd.Context(), d.Config)
}

// readZone returns the zone of the file that has the event.
func (d *dryRun) readZone(t *Terminal, fileKeys []string) (zone.Settings, error) {
	text, err := t.readFile(d.file)
	if err != nil {
		return zone.Settings{}, err
	}
	file, err := configfile.Parse(d.file, text, fileKeys)
	if err != nil {
		return zone.Settings{}, err
	}
	all := slices.DeleteFunc(file.Zones, func(z zone.Settings) bool {
		return len(z.Events) == 0 || d.zoneID != "" && z.ZoneID != d.zoneID
	})
	switch len(all) {
	case 0:
		return zone.Settings{}, fmt.Errorf("%s has no such zone with events", d.file)
	case 1:
		return all[0], nil
	}
	var names []string
	for _, z := range all {
		names = append(names, z.ZoneID)
	}
	return zone.Settings{}, fmt.Errorf("%s has several zones with events; say --zone %s", d.file, strings.Join(names, " or --zone "))
}
