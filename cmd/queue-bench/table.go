package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// table is what was found.
type table []row

// row is one figure, and what it should be: "" for what has no bound.
type row struct{ what, value, wanted string }

func (t *table) add(what string, value float64, unit string) {
	*t = append(*t, row{what: what, value: figure(value, unit)})
}

func (t *table) atMost(what string, value float64, unit string, bound float64) {
	*t = append(*t, row{what, figure(value, unit), "at most " + figure(bound, unit) + missed[value > bound]})
}

func (t *table) atLeast(what string, value, bound float64) {
	*t = append(*t, row{what, figure(value, ""), "at least " + figure(bound, "") + missed[value < bound]})
}

// missed is what stands behind a bound that is not kept.
var missed = map[bool]string{true: ": NO"}

// write writes the table in columns.
func (t table) write(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, r := range t {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", r.what, r.value, r.wanted) // Flush tells
	}
	return w.Flush()
}

// figure writes a value with as many digits as mean something.
func figure(v float64, unit string) string {
	digits := 2
	switch {
	case v == math.Trunc(v) || v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64)+" "+unit, " ")
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// sample is what one contender showed in one slice.
type sample struct {
	perSecond float64
	// server, redis and own are microseconds of processor time a request: of the server's process, of Redis, and of this
	// one.
	server, redis, own float64
	// peak is what the rate is compared with under overload, refused the share of the requests that then were not
	// answered with 200 in time.
	peak, refused float64
}

// The figures of a sample by which contenders are compared.
func perSecond(s sample) float64 { return s.perSecond }
func allMicros(s sample) float64 { return s.server + s.redis + s.own }

// series are the samples of each contender, one a round. In a round all take their turn within a few seconds, so that a
// round's ratio holds even where the machine is slower in the next.
type series map[string][]sample

// median is that of one figure over the rounds.
func (s series) median(name string, of func(sample) float64) float64 {
	var values []float64
	for _, one := range s[name] {
		values = append(values, of(one))
	}
	return median(values)
}

// ratio is the median over the rounds of one's figure by the other's.
func (s series) ratio(name, to string, of func(sample) float64) float64 {
	var values []float64
	for round := range min(len(s[name]), len(s[to])) {
		if by := of(s[to][round]); by > 0 {
			values = append(values, of(s[name][round])/by)
		}
	}
	return median(values)
}

// median of the values, 0 if there are none. The values are sorted.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// addCalls adds how long the longest call of each script held Redis while something was asked.
func (t *table) addCalls(asked string, calls map[string]time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		t.atMost(asked+": longest call of "+name, millis(calls[name]), "ms", millis(mostHeld))
	}
}
