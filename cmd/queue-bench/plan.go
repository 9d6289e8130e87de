package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// plan is how much is measured.
type plan struct {
	// waiting is the crowd at each server, conns how many visitors ask at once.
	waiting, conns int
	// A slice counts for span after warm; rounds of them are taken.
	warm, span time.Duration
	rounds     int
	// overloadConns ask at once where too much is asked.
	overloadConns int
	// million is the very large crowd; millionSpan is for how long it is watched.
	million     int
	millionSpan time.Duration
}

var (
	fullPlan = plan{
		waiting: 1_000_000, conns: 256, warm: 300 * time.Millisecond, span: 2200 * time.Millisecond, rounds: 3, overloadConns: 8_000,
		million: 10_000_000, millionSpan: 3 * time.Minute,
	}
	quickPlan = plan{
		waiting: 50_000, conns: 256, warm: 200 * time.Millisecond, span: 800 * time.Millisecond, rounds: 1, overloadConns: 2_000,
		million: 200_000, millionSpan: 15 * time.Second,
	}
)

// bench is a run.
type bench struct {
	*servers

	plan  plan
	table table
	// says gets what is being done.
	says io.Writer
}

// run measures, and prints the table: after an error, with what was found until then.
func (o options) run(ctx context.Context, to, says io.Writer) (err error) {
	b := &bench{plan: fullPlan, says: says}
	if o.quick {
		b.plan = quickPlan
	}
	b.plan.million = cmp.Or(o.million, b.plan.million)
	switch o.only {
	case "all":
		err = errors.Join(b.line(ctx, o.server), b.idle(ctx), b.millions(ctx))
	case "line":
		err = b.line(ctx, o.server)
	case "million":
		err = b.millions(ctx)
	case "idle":
		err = b.idle(ctx)
	default:
		err = fmt.Errorf("there is no section %s", o.only)
	}
	return errors.Join(err, b.table.write(to))
}
