package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// crowdFlags describe a simulated crowd and the zone that it comes to.
type crowdFlags struct {
	Visitors    int           `default:"20000" help:"How many come, 1 to 5,000,000."`
	Arrive      time.Duration `default:"5s" help:"The span over which they come."`
	PerMinute   int64         `default:"2000" help:"The zone's limit: most admissions in any 60 s."`
	Window      int64         `default:"6" help:"The zone's sliding window, in seconds."`
	Burst       int64         `default:"0" help:"Extra admissions in a window while nobody waits."`
	IdleTimeout int64         `default:"60" help:"How long a visitor may be silent, in seconds."`
	Leave       float64       `default:"35" help:"Percent that go away silently, each at a random moment of its wait."`
	Dark        float64       `default:"5" help:"Percent that are silent once, for 5 to 50 s, and come back."`
	Poll        string        `default:"paced" help:"When visitors poll: paced, as the server says; or a fixed period, such as 3s."`
	Seed        uint64        `default:"1" help:"The same seed gives the same run."`
}

// config reads the flags.
func (f crowdFlags) config() (simulate.Config, error) {
	const percent = 100
	z := zone.Defaults("SIMULATED")
	z.PerMinute, z.WindowSeconds, z.Burst, z.IdleTimeoutSeconds = f.PerMinute, f.Window, f.Burst, f.IdleTimeout
	c := simulate.Config{
		Visitors: f.Visitors, Arrive: f.Arrive, Zone: z,
		Leave: f.Leave / percent, Dark: f.Dark / percent, Seed: f.Seed,
	}
	if f.Poll != "paced" {
		every, err := time.ParseDuration(f.Poll)
		if err != nil || every <= 0 {
			return c, usageError{fmt.Errorf("--poll is %q, must be paced or a period such as 3s", f.Poll)}
		}
		c.PollEvery = every
	}
	if err := c.Validate(); err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// simulateCommand is queue-server simulate: a dry run, and the evidence for
// what the room promises.
type simulateCommand struct {
	crowdFlags
	JSON bool `name:"json" help:"Print the report as JSON."`
}

// Run runs the crowd and prints what the room did.
func (c simulateCommand) Run(ctx context.Context, out io.Writer) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	report, err := simulate.Run(ctx, cfg)
	if err != nil {
		return stopped(err)
	}
	if !c.JSON {
		return report.Print(out)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// stopped says in plain words that somebody ended the run.
func stopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped before the last one was in")
	}
	return err
}
