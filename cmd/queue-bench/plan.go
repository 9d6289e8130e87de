package main

import (
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

	plan plan
	// stopFront ends those who poll at the front of the lines.
	stopFront func() error
	table     table
}

// part is a part of a run.
type part struct {
	section, says string
	run           func(context.Context) error
}

// run measures, and prints the table.
func (o options) run(ctx context.Context, to, says io.Writer) error {
	p := fullPlan
	if o.quick {
		p = quickPlan
	}
	if o.million > 0 {
		p.million = o.million
	}
	found, err := measureAll(ctx, o, p, says)
	return errors.Join(err, found.write(to))
}

// measureAll runs the plan. With an error the table has what was found until then.
func measureAll(ctx context.Context, o options, p plan, says io.Writer) (found table, err error) {
	b := &bench{plan: p, stopFront: func() error { return nil }}
	var chosen []part
	for _, one := range []part{
		{"line", "building and starting the servers", func(ctx context.Context) error {
			started, err := startServers(ctx, o.server)
			if err == nil {
				b.servers = started
			}
			return err
		}},
		{"line", fmt.Sprintf("%d join", p.waiting), b.fill},
		{"line", "polls", b.polls},
		{"line", "joins", b.joins},
		{"line", "three times the peak", b.overload},
		{"million", fmt.Sprintf("%d waiting on one Redis", p.million), b.millions},
	} {
		if o.only == "all" || o.only == one.section {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("there is no section %s", o.only)
	}
	defer func() {
		err = errors.Join(err, b.stopFront())
		if b.servers != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	began := time.Now()
	for i, one := range chosen {
		fmt.Fprintf(says, "[%v] %d/%d %s\n", time.Since(began).Round(time.Second), i+1, len(chosen), one.says)
		if err := one.run(ctx); err != nil {
			return b.table, err
		}
	}
	return b.table, nil
}
