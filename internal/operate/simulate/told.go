package simulate

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/measure"
)

// Told says how good estimates were whose real wait was at least a window.
type Told struct {
	// ErrorP50 and ErrorP90 are of |estimate - wait| / wait, Bias is the median of (estimate -
	// wait) / wait.
	ErrorP50 float64 `json:"errorP50"`
	ErrorP90 float64 `json:"errorP90"`
	Bias     float64 `json:"bias"`
	// FloorP50 and FloorP90 are the errors of an oracle that knows how the crowd leaves, but not who will.
	FloorP50 float64 `json:"floorP50"`
	FloorP90 float64 `json:"floorP90"`
	// Covered is the share of ranges that held the real wait, Width the median of how wide they
	// were, in waits.
	Covered float64 `json:"covered"`
	Width   float64 `json:"width"`
}

// told is one estimate: when, in microseconds, and what, in milliseconds; floor is the oracle's.
type told struct{ at, millis, low, high, floor int64 }

// tolds collects some.
type tolds struct {
	errs, bias, width, floor []float64
	covered                  int
}

func (c *tolds) add(t told, real float64) {
	by := (float64(t.millis) - real) / real
	c.bias, c.errs = append(c.bias, by), append(c.errs, math.Abs(by))
	c.width = append(c.width, float64(t.high-t.low)/real)
	c.floor = append(c.floor, math.Abs(float64(t.floor)-real)/real)
	if float64(t.low) <= real && real <= float64(t.high) {
		c.covered++
	}
}

func (c *tolds) sum() Told {
	slices.Sort(c.errs)
	slices.Sort(c.bias)
	slices.Sort(c.width)
	slices.Sort(c.floor)
	return Told{
		ErrorP50: measure.Percentile(c.errs, 50), ErrorP90: measure.Percentile(c.errs, 90), Bias: measure.Percentile(c.bias, 50),
		FloorP50: measure.Percentile(c.floor, 50), FloorP90: measure.Percentile(c.floor, 90),
		Covered: float64(c.covered) / max(1, float64(len(c.errs))), Width: measure.Percentile(c.width, 50),
	}
}

// told compares what visitors were told with what became.
func (r *run) told(out *Report, windowMillis int64) {
	var all, foreseen tolds
	var thirds [3]tolds
	moved, pairs := 0, 0
	for i := range r.visitors {
		v := &r.visitors[i]
		if v.state != inside {
			continue
		}
		whole := v.admitted - v.joined
		for i, t := range v.estimates {
			real := float64(v.admitted-t.at) / 1000
			if real < float64(windowMillis) {
				continue
			}
			all.add(t, real)
			if r.crosses(t.at, v.admitted) {
				continue
			}
			foreseen.add(t, real)
			thirds[min(2, 3*(t.at-v.joined)/whole)].add(t, real)
			if i > 0 {
				pairs++
				if was := v.estimates[i-1]; math.Abs(float64(t.at+1000*t.millis-was.at-1000*was.millis)) > float64(whole)/10 {
					moved++
				}
			}
		}
	}
	sum := all.sum()
	out.EstimateErrorP50, out.EstimateErrorP90 = sum.ErrorP50, sum.ErrorP90
	out.Foreseen, out.Moved = foreseen.sum(), float64(moved)/float64(max(1, pairs))
	for i := range thirds {
		out.Thirds[i] = thirds[i].sum()
	}
}

// crosses reports whether an operator changed the limit between the two times, which
// nobody could know at the first.
func (r *run) crosses(from, to int64) bool {
	return slices.ContainsFunc(r.cfg.Changes, func(c Change) bool {
		at := r.start + c.At.Microseconds()
		return from < at && at <= to
	})
}

// PrintEstimates runs all of Crowds, each in a new zone and then once more in a zone
// that has seen such a crowd, and prints a table in Markdown.
func PrintEstimates(ctx context.Context, w io.Writer) error {
	if _, err := fmt.Fprint(w, "| crowd | error, median | p90 | by thirds of the wait | range held it, by thirds | its width, by thirds | moved by more than a tenth | oracle, median, p90 |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n"); err != nil {
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
			if _, err := fmt.Fprintln(w, r.row(name, len(c.Config.Changes) > 0)); err != nil {
				return err
			}
		}
	}
	return nil
}

// row is one line of the table.
func (o *Report) row(name string, changed bool) string {
	p50, p90 := fmt.Sprintf("%.0f %%", 100*o.EstimateErrorP50), fmt.Sprintf("%.0f %%", 100*o.EstimateErrorP90)
	if changed {
		p50 += fmt.Sprintf(" (%.0f %%)", 100*o.Foreseen.ErrorP50)
		p90 += fmt.Sprintf(" (%.0f %%)", 100*o.Foreseen.ErrorP90)
	}
	t := o.Thirds
	return fmt.Sprintf("| %s | %s | %s | %.0f, %.0f, %.0f %% | %.0f, %.0f, %.0f %% | %.0f, %.0f, %.0f %% | %.1f %% | %.0f, %.0f %% |", name, p50, p90,
		100*t[0].ErrorP50, 100*t[1].ErrorP50, 100*t[2].ErrorP50, 100*t[0].Covered, 100*t[1].Covered, 100*t[2].Covered,
		100*t[0].Width, 100*t[1].Width, 100*t[2].Width, 100*o.Moved,
		100*o.Foreseen.FloorP50, 100*o.Foreseen.FloorP90)
}
