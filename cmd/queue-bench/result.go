package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// results are all that a run has found. What was not measured is zero.
type results struct {
	machine machine
	began   time.Time
	took    time.Duration
	plan    plan

	steps []step
	// appendOnly are polls of the largest crowd while Redis writes to disk.
	appendOnly series
	// scripts is what our script and the minimal one cost Redis.
	scripts      series
	minimalBytes float64
	redisSweep   sweepCost
	inProcess    inProcessCost
	limits       limitsCost
	limitsTook   time.Duration
}

// step is what was found at one size of the crowd.
type step struct {
	waiting int
	polls   series
	latency series
	// joins are from this size on to the next.
	joins series
	// bytes are those of a waiting visitor, by store.
	bytes map[string]float64
	// longest is the longest script call during polls, if it was long.
	longest time.Duration
}

// last is the step with the largest crowd.
func (r *results) last() step {
	if len(r.steps) == 0 {
		return step{waiting: r.plan.sizes[len(r.plan.sizes)-1]}
	}
	return r.steps[len(r.steps)-1]
}

// mostSweepMillis is the longest that a call of a sweep may hold the store.
const mostSweepMillis = 10

// target is one figure beside what it should be.
type target struct {
	name  string
	value float64
	unit  string
	// bound is the most, or with atLeast the least, that the value should be.
	bound   float64
	atLeast bool
}

func (t target) met() bool {
	if t.atLeast {
		return t.value >= t.bound
	}
	return t.value <= t.bound
}

// wanted writes the bound down.
func (t target) wanted() string {
	if t.atLeast {
		return "at least " + figure(t.bound, t.unit)
	}
	return "at most " + figure(t.bound, t.unit)
}

func (t target) verdict() string {
	if t.met() {
		return "yes"
	}
	return "NO"
}

// figure writes a value with as many digits as mean something.
func figure(v float64, unit string) string {
	digits := 2
	switch {
	case unit == "bytes" || v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if unit == "" {
		return text
	}
	return text + " " + unit
}

// targets are all figures that have a bound, of those that were measured.
func (r *results) targets() []target {
	var out []target
	at := func(s string, n int) string { return fmt.Sprintf("%s, %s waiting", s, count(n)) }
	if len(r.steps) > 0 {
		l := r.last()
		out = append(
			out,
			target{at("HTTP polls, embedded store / bare echo", l.waiting), l.polls.ratio(onEmbedded, bareEcho, perSecond), "", 1.0, true},
			target{at("HTTP polls, Redis / bare echo", l.waiting), l.polls.ratio(onRedis, bareEcho, perSecond), "", 0.8, true},
			target{at("HTTP joins, embedded store / bare echo", l.waiting), l.joins.ratio(onEmbedded, bareEcho, perSecond), "", 0.7, true},
			target{at("HTTP joins, Redis / bare echo", l.waiting), l.joins.ratio(onRedis, bareEcho, perSecond), "", 0.7, true},
			target{at("a waiting visitor in Redis", l.waiting), l.bytes[onRedis], "bytes", 140, false},
			target{at("a waiting visitor in the embedded store", l.waiting), l.bytes[onEmbedded], "bytes", 100, false},
		)
	}
	if len(r.scripts) > 0 {
		out = append(
			out,
			target{"Redis CPU a poll / minimal script's, large crowd", r.scripts.ratio(oursLarge, minimalLarge, redisMicros), "", 1.2, false},
			target{"Redis CPU a poll, large crowd / small crowd", r.scripts.ratio(oursLarge, oursSmall, redisMicros), "", 1.5, false},
		)
	}
	if len(r.redisSweep.calls) > 0 {
		out = append(out, target{
			fmt.Sprintf("longest call of a sweep of %s idle among %s", count(int(r.redisSweep.removed)), count(r.redisSweep.waiting)),
			millis(r.redisSweep.longest()), "ms", mostSweepMillis, false,
		})
	}
	return out
}

// print writes the table for a terminal.
func (r *results) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, a ...any) { fmt.Fprintf(table, format+"\n", a...) }
	row("waiting\twhat\tserver\ta second\tratio\tby CPU\tserver CPU\tRedis CPU\ta call\tp50 ms\tp99 ms\t")
	for _, s := range r.steps {
		for _, part := range []struct {
			name string
			series
			latency series
		}{{"polls", s.polls, s.latency}, {"joins", s.joins, nil}} {
			printRows(row, count(s.waiting), part.name, part.series, part.latency)
		}
	}
	if r.appendOnly != nil {
		printRows(row, count(r.last().waiting), "polls, log on disk", r.appendOnly, nil)
	}
	if r.scripts != nil {
		row("\nscript\tRedis CPU, us a poll\t")
		for _, name := range []string{oursLarge, minimalLarge, oursSmall, minimalSmall} {
			row("%s\t%.2f\t", name, r.scripts.median(name, redisMicros))
		}
	}
	row("\nbytes a visitor\tembedded\tRedis\tminimal in Redis\t")
	for _, s := range r.steps {
		row("%s\t%.0f\t%.0f\t\t", count(s.waiting), s.bytes[onEmbedded], s.bytes[onRedis])
	}
	row("large crowd\t%.0f (by itself)\t\t%.0f\t", r.inProcess.bytes, r.minimalBytes)
	row("\nembedded store by itself\tjoin %v\tpoll %v\tsweep %v, longest call %v\t",
		r.inProcess.join, r.inProcess.poll, r.inProcess.sweep.took.Round(time.Millisecond), r.inProcess.sweep.longest())
	row("sweep on Redis\t%s removed\t%d calls\t%v in all, longest call %v\t", count(int(r.redisSweep.removed)),
		len(r.redisSweep.calls), r.redisSweep.took.Round(time.Millisecond), r.redisSweep.longest())
	row("\ntarget\tmeasured\twanted\tmet\t")
	for _, t := range r.targets() {
		row("%s\t%s\t%s\t%s\t", t.name, figure(t.value, t.unit), t.wanted(), t.verdict())
	}
	return errors.Join(table.Flush(), r.printLimits(w))
}

func printRows(row func(string, ...any), waiting, what string, s, latency series) {
	for _, name := range []string{bareEcho, onEmbedded, onRedis} {
		if len(s[name]) == 0 {
			continue
		}
		times := "\t"
		if latency != nil {
			times = fmt.Sprintf("%.2f\t%.2f", latency.median(name, p50Millis), latency.median(name, p99Millis))
		}
		row("%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.1f us\t%.1f us\t%.0f\t%s\t", waiting, what, name,
			count(int(s.median(name, perSecond))), s.ratio(name, bareEcho, perSecond), s.ratio(bareEcho, name, allMicros),
			s.median(name, serverMicros), s.median(name, redisMicros), s.median(name, together), times)
	}
}

// count writes a number with commas.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
