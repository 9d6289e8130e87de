package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/report"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// mostSimulated bounds a simulated crowd. A larger one is made smaller with all its limits, which leaves its waits as they are.
	mostSimulated = 5_000
	// leastPerMinute is the smallest limit that this makes: below it, single visitors would count.
	leastPerMinute = 30
	// tooMany: a crowd that is still larger is not simulated. It would take a core for minutes.
	tooMany = 10 * mostSimulated
)

// WhatIf simulates a report's arrivals at other limits, as many of those who came as did give up, and in a zone with a cap with stays as
// long as they were on average. It sets the report's WhatIf, which stays empty where too many came.
// settings are the zone's.
func WhatIf(ctx context.Context, r *report.Report, settings zone.Settings, perMinute []int64) error {
	if r.Totals.Joined == 0 {
		return nil
	}
	least := perMinute[0]
	for _, n := range perMinute {
		least = min(least, n)
	}
	scale := max(1, min((r.Totals.Joined+mostSimulated-1)/mostSimulated, least/leastPerMinute))
	if r.Totals.Joined/scale > tooMany {
		return nil
	}
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
		cfg.Stay = min(max(time.Duration(inside)*time.Minute/time.Duration(r.Totals.Admitted), time.Second), 24*time.Hour)
	}
	for _, n := range perMinute {
		cfg.Zone.PerMinute = max(1, n/scale)
		out, err := simulate.Run(ctx, cfg)
		if err != nil {
			return fmt.Errorf("operator: what if %d a minute: %w", n, err)
		}
		s := report.Scenario{PerMinute: n, WaitP50Millis: out.MedianMs, OneIn: scale}
		if out.Admitted > 0 {
			s.LastAt = first + out.LastInMs
		}
		r.WhatIf = append(r.WhatIf, s)
	}
	return nil
}
