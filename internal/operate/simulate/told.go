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
				if v.state == Inside && !yield(measure.Entered{JoinedMicros: v.joined, EnteredMicros: v.admitted, Told: told(v)}) {
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
