package simulate

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/measure"
)

// told compares what visitors were told, and what an oracle would have told them, with what became.
func (r *run) told(out *Report, windowMillis int64) {
	judge := func(told func(*visitor) []estimate.Told) measure.Estimates {
		return measure.EstimatesOf(func(yield func(measure.Entered) bool) {
			for i := range r.visitors {
				v := &r.visitors[i]
				if v.state == inside && !yield(measure.Entered{JoinedMicros: v.joined, EnteredMicros: v.admitted, Told: told(v)}) {
					return
				}
			}
		}, windowMillis, r.crosses)
	}
	e := judge(func(v *visitor) []estimate.Told { return v.estimates })
	out.EstimateErrorP50, out.EstimateErrorP90 = e.All.ErrorP50, e.All.ErrorP90
	out.Foreseen, out.Thirds, out.Moved = e.Foreseen, e.Thirds, e.Moved
	o := judge(func(v *visitor) []estimate.Told { return v.oracle })
	out.Oracle, out.OracleMoved = o.Foreseen, o.Moved
}

// crosses reports whether an operator changed the limit between the two times, which
// nobody could know at the first.
func (r *run) crosses(from, to int64) bool {
	return slices.ContainsFunc(r.cfg.Changes, func(c Change) bool {
		at := r.start + c.At.Microseconds()
		return from < at && at <= to
	})
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
	return fmt.Sprintf("| %s | %s | %s | %.0f, %.0f, %.1f %% | %.0f, %.0f, %.0f %% | %.0f, %.0f, %.0f %% | %.0f, %.0f, %.0f %% | %.1f %% |", name, p50, p90, 100*o.Oracle.ErrorP50, 100*o.Oracle.ErrorP90, 100*o.OracleMoved,
		100*t[0].ErrorP50, 100*t[1].ErrorP50, 100*t[2].ErrorP50, 100*t[0].Covered, 100*t[1].Covered, 100*t[2].Covered,
		100*t[0].Width, 100*t[1].Width, 100*t[2].Width, 100*o.Moved)
}
