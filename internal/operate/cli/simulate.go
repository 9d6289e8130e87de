package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// paced is the value of --poll for visitors who poll as the server says.
const paced = "paced"

// crowdFlags describe a simulated crowd and the zone that it comes to.
type crowdFlags struct {
	visitors                              int
	arrive                                time.Duration
	perMinute, window, burst, idleTimeout int64
	leave, dark                           float64
	poll                                  string
	maxPerSecond                          string
	seed                                  uint64
}

// command returns a command with these flags. run runs a crowd that is as they say.
func (f *crowdFlags) command(name, short string, run func(ctx context.Context, cfg simulate.Config) error) *cobra.Command {
	command := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config()
			if err != nil {
				return UsageError{err}
			}
			if err := run(cmd.Context(), cfg); !errors.Is(err, context.Canceled) {
				return err
			}
			return errors.New("stopped before the last one was in")
		},
	}
	flags := command.Flags()
	flags.IntVar(&f.visitors, "visitors", 20_000, "how many come, 1 to 5,000,000")
	flags.DurationVar(&f.arrive, "arrive", 5*time.Second, "the span over which they come")
	flags.Int64Var(&f.perMinute, "per-minute", 2000, "the zone's limit: most admissions in any 60 s")
	flags.Int64Var(&f.window, "window", zone.DefaultWindowSeconds, "the zone's sliding window, in seconds")
	flags.StringVar(&f.maxPerSecond, "max-per-second", zone.PerSecondAuto.String(),
		"most admissions in any second while there is a line: auto, none or a number")
	flags.Int64Var(&f.burst, "burst", 0, "extra admissions in a window while nobody waits")
	flags.Int64Var(&f.idleTimeout, "idle-timeout", zone.DefaultIdleTimeoutSeconds, "how long a visitor may be silent, in seconds")
	flags.Float64Var(&f.leave, "leave", 35, "percent that go away silently, each at a random moment of its wait")
	flags.Float64Var(&f.dark, "dark", 5, "percent that are silent once, for 5 to 50 s, and come back")
	flags.StringVar(&f.poll, "poll", paced, "when visitors poll: paced, as the server says; or a fixed period, such as 3s")
	flags.Uint64Var(&f.seed, "seed", 1, "the same seed gives the same run")
	return command
}

// config reads the flags.
func (f *crowdFlags) config() (simulate.Config, error) {
	const percent = 100
	z := zone.Defaults("SIMULATED")
	z.PerMinute, z.WindowSeconds, z.Burst, z.IdleTimeoutSeconds = f.perMinute, f.window, f.burst, f.idleTimeout
	c := simulate.Config{
		Visitors: f.visitors, Arrive: f.arrive, Zone: z,
		Leave: f.leave / percent, Dark: f.dark / percent, Seed: f.seed,
	}
	if err := c.Zone.MaxPerSecond.UnmarshalText([]byte(f.maxPerSecond)); err != nil {
		return c, fmt.Errorf("--max-per-second is %q, %w", f.maxPerSecond, err)
	}
	if f.poll != paced {
		every, err := time.ParseDuration(f.poll)
		if err != nil || every <= 0 {
			return c, fmt.Errorf("--poll is %q, must be paced or a period such as 3s", f.poll)
		}
		c.PollEvery = every
	}
	return c, c.Validate()
}

// simulateCommand is queue-server simulate: a dry run, and the evidence for
// what the room promises.
func simulateCommand(t *Terminal, fileKeys []string) *cobra.Command {
	var f crowdFlags
	var e eventFlags
	var asJSON, crowds, estimates bool
	command := f.command("simulate", "Run a crowd through the room in virtual time, and print what the room did.",
		func(ctx context.Context, cfg simulate.Config) error {
			if crowds {
				return simulate.PrintCrowds(ctx, t.Stdout)
			}
			if estimates {
				return simulate.PrintEstimates(ctx, t.Stdout)
			}
			report, err := simulate.Run(ctx, cfg)
			switch {
			case err != nil:
				return err
			case !asJSON:
				return report.Print(t.Stdout)
			}
			enc := json.NewEncoder(t.Stdout)
			enc.SetIndent("", "  ")
			return enc.Encode(report)
		})
	command.Flags().BoolVar(&crowds, "crowds", false,
		"run fifteen crowds instead, each with an even flow and without, and print a table of all")
	command.Flags().BoolVar(&estimates, "estimates", false,
		"run these crowds, each in a new zone and once more in the same, and print how good the estimates were")
	command.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	e.add(command)
	crowd := command.RunE
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if e.file == "" {
			return crowd(cmd, args)
		}
		return e.run(cmd, t, &f, asJSON, fileKeys)
	}
	return command
}
