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
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// paced is the value of --poll for visitors who poll as the server says.
const paced = "paced"

// crowdFlags describe a simulated crowd and the zone that it comes to.
type crowdFlags struct {
	simulate.Config
	// leave and dark are percents.
	leave, dark, done  float64
	poll, maxPerSecond string
}

// command returns a command with these flags.
func (f *crowdFlags) command(name, short string, run func(cmd *cobra.Command) error) *cobra.Command {
	command := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := run(cmd); !errors.Is(err, context.Canceled) {
				return err
			}
			return errors.New("stopped before the last one was in")
		},
	}
	f.Zone = zone.Defaults("SIMULATED")
	flags := command.Flags()
	flags.IntVar(&f.Visitors, "visitors", 20_000, "how many come, 1 to 5,000,000")
	flags.DurationVar(&f.Arrive, "arrive", 5*time.Second, "the span over which they come")
	flags.Int64Var(&f.Zone.PerMinute, "per-minute", 2000, "the zone's limit: most admissions in any 60 s")
	flags.Int64Var(&f.Zone.WindowSeconds, "window", zone.DefaultWindowSeconds, "the zone's sliding window, in seconds")
	flags.StringVar(&f.maxPerSecond, "max-per-second", zone.PerSecondAuto.String(),
		"most admissions in any second while there is a line: auto, none or a number")
	flags.Int64Var(&f.Zone.Burst, "burst", 0, "extra admissions in a window while nobody waits")
	flags.Int64Var(&f.Zone.IdleTimeoutSeconds, "idle-timeout", zone.DefaultIdleTimeoutSeconds, "how long a visitor may be silent, in seconds")
	flags.Int64Var(&f.Zone.MaxInside, "max-inside", 0, "the zone's cap: most that may be inside at a time; 0 for none")
	flags.Int64Var(&f.Zone.SessionSeconds, "session", f.Zone.SessionSeconds, "with --max-inside, how long a session lasts, in seconds")
	flags.DurationVar(&f.Stay, "stay", 5*time.Minute, "in a zone with a cap, how long a visitor stays inside, in the mean")
	flags.Float64Var(&f.done, "done", 0, "in a zone with a cap, percent of those who go that the shop reports")
	flags.Float64Var(&f.leave, "leave", 35, "percent that go away silently, each at a random moment of its wait")
	flags.Float64Var(&f.dark, "dark", 5, "percent that are silent once, for 5 to 50 s, and come back")
	flags.StringVar(&f.poll, "poll", paced, "when visitors poll: paced, as the server says; or a fixed period, such as 3s")
	flags.Uint64Var(&f.Seed, "seed", 1, "the same seed gives the same run")
	return command
}

// read reads the flags that are written otherwise than they are in Config.
func (f *crowdFlags) read() error {
	const percent = 100
	f.Leave, f.Dark, f.Done = f.leave/percent, f.dark/percent, f.done/percent
	if err := f.Zone.MaxPerSecond.UnmarshalText([]byte(f.maxPerSecond)); err != nil {
		return Usage("--max-per-second is %q, %w", f.maxPerSecond, err)
	}
	if f.poll != paced {
		var err error
		if f.PollEvery, err = time.ParseDuration(f.poll); err != nil || f.PollEvery <= 0 {
			return Usage("--poll is %q, must be paced or a period such as 3s", f.poll)
		}
	}
	if err := f.Validate(); err != nil {
		return UsageError{err}
	}
	return nil
}

// simulateCommand is queue-server simulate: a dry run, and the evidence for
// what the room promises.
func simulateCommand(t *Terminal, fileKeys []string) *cobra.Command {
	var f crowdFlags
	var e eventFlags
	var asJSON bool
	command := f.command("simulate", "Run a crowd through the room in virtual time, and print what the room did.",
		func(cmd *cobra.Command) error {
			if e.file != "" {
				return e.run(cmd, t, &f, asJSON, fileKeys)
			}
			if err := f.read(); err != nil {
				return err
			}
			report, err := simulate.Run(cmd.Context(), f.Config)
			switch {
			case err != nil:
				return err
			case asJSON:
				return t.printJSON(report)
			}
			return report.Print(t.Stdout)
		})
	command.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	e.add(command)
	return command
}

// printJSON prints a report for scripts.
func (t *Terminal) printJSON(report any) error {
	enc := json.NewEncoder(t.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// eventFlags are those of simulate --event.
type eventFlags struct {
	simulate.EventConfig
	file, zoneID string
}

// add adds them.
func (e *eventFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&e.file, "event", "", "play an event of the zone in this YAML `FILE` instead;\n"+
		"--visitors gather, in the --arrive before people settle (10m), and --leave")
	flags.StringVar(&e.zoneID, "zone", "", "with --event, the `ZONE`, if the file has several with events")
	flags.StringVar(&e.Event, "name", "", "with --event, the `NAME` of the event, if it is not the first to open")
	flags.IntVar(&e.After, "after", 0, "with --event, how many come behind them, in the two minutes after people settle")
	CompleteFiles(command, "event")
}

// run plays the event.
func (e *eventFlags) run(cmd *cobra.Command, t *Terminal, f *crowdFlags, asJSON bool, fileKeys []string) error {
	for _, name := range []string{"per-minute", "window", "max-per-second", "burst", "idle-timeout", "dark", "poll", "max-inside", "session"} {
		if cmd.Flags().Changed(name) {
			return Usage("--%s is not for --event, which plays the zone of the file by its settings", name)
		}
	}
	z, err := e.read(t, fileKeys)
	if err != nil {
		return UsageError{err}
	}
	const percent = 100
	c := e.EventConfig
	c.Zone, c.Gather, c.Within, c.Leave, c.Seed = z, f.Visitors, simulate.DefaultWithin, f.leave/percent, f.Seed
	c.Stay, c.Done = f.Stay, f.done/percent
	if cmd.Flags().Changed("arrive") {
		c.Within = f.Arrive
	}
	if err := c.Validate(); err != nil {
		return UsageError{err}
	}
	report, err := simulate.PlayEvent(cmd.Context(), c)
	if err != nil {
		return err
	}
	if asJSON {
		return t.printJSON(report)
	}
	return report.Print(t.Stdout)
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
		return len(z.Events) == 0 || e.zoneID != "" && z.ZoneID != e.zoneID
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
