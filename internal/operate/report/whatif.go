package report

import (
	"context"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// mostSimulated bounds a simulated crowd. A larger one is made smaller with all its limits, which leaves its waits as they are.
	mostSimulated = 5_000
	// leastPerMinute is the smallest limit that this makes: below it, single visitors would count.
	leastPerMinute = 30
	// MostScenarios bounds what one report may ask for.
	MostScenarios = 5
)

// Scenario is what another limit would have done with the same arrivals.
type Scenario struct {
	PerMinute     int64 `json:"perMinute" doc:"The limit." example:"900"`
	WaitP50Millis int64 `json:"waitP50Millis" doc:"The median wait of those who would have been admitted." example:"120000"`
	// LastAt is 0 if nobody would have been admitted.
	LastAt int64 `json:"lastAt" doc:"When the last would have been admitted, in Unix milliseconds." example:"1795222860000"`
	// OneIn is how many visitors one simulated visitor stands for.
	OneIn int64 `json:"oneIn" doc:"How many visitors each simulated one stands for." example:"4"`
}

// Limits are the limits that a report asks for when nobody says which: a quarter more than most often, half more and twice as many.
func (r *Report) Limits() (all []int64) {
	times := make(map[int64]int)
	var usual int64
	for i := range r.Minutes {
		m := &r.Minutes[i]
		if times[m.PerMinute]++; m.PerMinute > 0 && times[m.PerMinute] > times[usual] {
			usual = m.PerMinute
		}
	}
	if usual == 0 {
		return nil
	}
	return []int64{usual * 5 / 4, usual * 3 / 2, usual * 2}
}

// Try simulates the same arrivals at other limits, as many of those who came as did give up, and in a zone with a cap with stays as
// long as they were on average. It sets WhatIf. settings are the zone's.
func (r *Report) Try(ctx context.Context, settings zone.Settings, perMinute []int64) error {
	if r.Totals.Joined == 0 {
		return nil
	}
	least := perMinute[0]
	for _, n := range perMinute {
		least = min(least, n)
	}
	scale := max(1, min((r.Totals.Joined+mostSimulated-1)/mostSimulated, least/leastPerMinute))
	cfg := simulate.Config{Seed: 1, Leave: min(1, float64(r.GaveUp())/float64(r.Totals.Joined)), Stay: time.Hour}
	cfg.Zone = zone.Defaults("SIMULATED")
	cfg.Zone.WindowSeconds, cfg.Zone.IdleTimeoutSeconds, cfg.Zone.MaxPerSecond = settings.WindowSeconds, settings.IdleTimeoutSeconds, settings.MaxPerSecond
	var first, joined, inside int64
	for i := range r.Minutes {
		m := &r.Minutes[i]
		if m.Joined > 0 && first == 0 {
			first = m.At
		}
		if first == 0 {
			continue
		}
		before := joined / scale
		joined += m.Joined
		for n := joined/scale - before; n > 0; n-- {
			cfg.Arrivals = append(cfg.Arrivals, time.Duration(m.At-first)*time.Millisecond)
		}
		inside += m.Inside
		cfg.Zone.MaxInside = max(cfg.Zone.MaxInside, m.MaxInside/scale)
	}
	if cfg.Visitors = len(cfg.Arrivals); cfg.Visitors == 0 {
		return nil
	}
	if cfg.Zone.MaxInside > 0 && r.Totals.Admitted > 0 { // Little's law
		cfg.Stay = min(max(time.Duration(inside)*minute/time.Duration(r.Totals.Admitted), time.Second), 24*time.Hour)
	}
	for _, n := range perMinute {
		cfg.Zone.PerMinute = max(1, n/scale)
		out, err := simulate.Run(ctx, cfg)
		if err != nil {
			return fmt.Errorf("report: what if %d a minute: %w", n, err)
		}
		s := Scenario{PerMinute: n, WaitP50Millis: out.MedianMs, OneIn: scale}
		if out.Admitted > 0 {
			s.LastAt = first + out.LastInMs
		}
		r.WhatIf = append(r.WhatIf, s)
	}
	return nil
}
