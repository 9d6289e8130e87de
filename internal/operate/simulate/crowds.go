package simulate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Crowd is one of those that the room is measured with.
type Crowd struct {
	Name   string
	Config Config
}

// Crowds are those of the README's table: 2,000 a minute where no other limit is named,
// 20,000 visitors within 5 s, and nobody dark.
func Crowds() []Crowd {
	with := func(name string, change func(*Config)) Crowd {
		c := Config{Visitors: 20_000, Arrive: 5 * time.Second, Zone: zone.Defaults("SIMULATED"), Seed: 1}
		c.Zone.PerMinute = 2_000
		change(&c)
		return Crowd{name, c}
	}
	all := []Crowd{with("nobody leaves", func(*Config) {})}
	for _, leave := range []float64{0.35, 0.60, 0.90} {
		name := fmt.Sprintf("%.0f %% leave", 100*leave)
		all = append(all,
			with(name+", evenly", func(c *Config) { c.Leave = leave }),
			with(name+" within 90 s", func(c *Config) { c.Leave, c.LeaveWithin = leave, 90*time.Second }))
	}
	return append(all,
		with("60 % leave in one wave after 5 min", func(c *Config) { c.Leave, c.LeaveAt = 0.60, 5*time.Minute }),
		with("a rush of 10,000 on top of a line of 10,000", func(c *Config) { c.Rush, c.RushAt, c.Leave = 10_000, 2*time.Minute, 0.35 }),
		with("limit halved after 2 min", func(c *Config) { c.Leave, c.Changes = 0.35, []Change{{2 * time.Minute, 1_000}} }),
		with("limit doubled after 2 min", func(c *Config) { c.Leave, c.Changes = 0.35, []Change{{2 * time.Minute, 4_000}} }),
		with("a pause of 2 min", func(c *Config) {
			c.Leave, c.Changes = 0.35, []Change{{2 * time.Minute, 0}, {4 * time.Minute, 2_000}}
		}),
		with("5 % dark for a minute", func(c *Config) { c.Leave, c.Dark, c.DarkFor = 0.35, 0.05, time.Minute }),
		with("one every 6 s, 200 come", func(c *Config) { c.Visitors, c.Zone.PerMinute, c.Leave = 200, 10, 0.35 }),
		with("200,000 within a minute, 20,000 a minute", func(c *Config) {
			c.Visitors, c.Arrive, c.Zone.PerMinute, c.Leave = 200_000, time.Minute, 20_000, 0.35
		}),
	)
}

// PrintCrowds runs all of them with an even flow and without, and prints a table in
// Markdown. In each cell stands what auto gives, then what none gives.
func PrintCrowds(ctx context.Context, w io.Writer) error {
	if _, err := fmt.Fprint(w, "| crowd | capacity used | most in a second, from the line | overtaken, p99, windows | polls, mean / most | estimate's error, median | p90 |\n"+
		"| --- | --- | --- | --- | --- | --- | --- |\n"); err != nil {
		return err
	}
	for _, c := range Crowds() {
		row := struct {
			Name       string
			Even, Free Report
		}{Name: c.Name}
		for flow, into := range map[zone.PerSecond]*Report{zone.PerSecondAuto: &row.Even, zone.PerSecondNone: &row.Free} {
			c.Config.Zone.MaxPerSecond = flow
			var err error
			if *into, err = Run(ctx, c.Config); err != nil {
				return fmt.Errorf("simulate: %s: %w", c.Name, err)
			}
		}
		if err := pages.ExecuteTemplate(w, "crowd", row); err != nil {
			return err
		}
	}
	return nil
}

// EstimatesHead are the columns of PrintEstimates.
const EstimatesHead = "| crowd | error, median | p90 | an oracle's, and moved | by thirds of the wait | range held it, by thirds | its width, by thirds | moved by more than a tenth |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- |\n"

// PrintEstimates runs all of Crowds, each in a new zone and then once more in a zone
// that has seen such a crowd, and prints a table in Markdown.
func PrintEstimates(ctx context.Context, w io.Writer) error {
	if _, err := fmt.Fprint(w, EstimatesHead); err != nil {
		return err
	}
	for _, c := range Crowds() {
		c.Config.Estimates = new(estimate.Model)
		for _, name := range []string{c.Name, "- once more"} {
			r, err := Run(ctx, c.Config)
			if err != nil {
				return fmt.Errorf("simulate: %s: %w", c.Name, err)
			}
			c.Config.Seed++
			row := struct {
				Report
				Name    string
				Changed bool
			}{r, name, len(c.Config.Changes) > 0}
			if err := pages.ExecuteTemplate(w, "estimates", row); err != nil {
				return err
			}
		}
	}
	return nil
}
