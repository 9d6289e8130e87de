package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// found are results as a run could have found them.
func found() *results {
	s := func(rates ...float64) series {
		out := make(series)
		for i, name := range serversShown {
			for round := range 3 {
				// The machine is half as fast in the second round.
				speed := 1.0
				if round == 1 {
					speed = 0.5
				}
				out[name] = append(out[name], sample{
					perSecond: rates[i] * speed, serverMicros: 30 / speed, redisMicros: float64(i) * 3, together: 80,
					p50: time.Millisecond, p99: 5 * time.Millisecond,
				})
			}
		}
		return out
	}
	costs := series{}
	for name, micros := range map[string]float64{oursLarge: 5, minimalLarge: 4.5, oursSmall: 4, minimalSmall: 2} {
		costs[name] = []sample{{redisMicros: micros}}
	}
	at := func(n int) step {
		return step{
			waiting: n, polls: s(30_000, 33_000, 21_000), latency: s(15_000, 16_000, 12_000),
			joins: s(30_000, 31_000, 24_000), bytes: map[string]float64{onEmbedded: 60, onRedis: 139.6},
		}
	}
	return &results{
		machine: machine{cores: 2, processor: "a <fast> one", system: "Linux 6.1", golang: "1.26", redis: "7.0"},
		began:   time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), took: 400 * time.Second, plan: fullPlan,
		steps: []step{at(10_000), at(1_000_000)}, appendOnly: s(30_000, 0, 18_000),
		scripts: costs, minimalBytes: 190,
		redisSweep: sweepCost{
			waiting: 1_000_000, removed: 200_000, took: time.Second,
			calls: []time.Duration{3 * time.Millisecond, 12 * time.Millisecond, 4 * time.Millisecond},
		},
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	got := make(map[string]string)
	for _, target := range found().targets() {
		got[target.name] = figure(target.value, target.unit) + " " + target.verdict()
	}
	for name, want := range map[string]string{
		"HTTP polls, embedded store / bare echo, 1,000,000 waiting":  "1.10 yes",
		"HTTP polls, Redis / bare echo, 1,000,000 waiting":           "0.70 NO",
		"HTTP joins, Redis / bare echo, 1,000,000 waiting":           "0.80 yes",
		"a waiting visitor in Redis, 1,000,000 waiting":              "140 bytes yes",
		"Redis CPU a poll / minimal script's, large crowd":           "1.11 yes",
		"Redis CPU a poll, large crowd / small crowd":                "1.25 yes",
		"longest call of a sweep of 200,000 idle among 1,000,000":    "12.0 ms NO",
		"a waiting visitor in the embedded store, 1,000,000 waiting": "60 bytes yes",
		"HTTP joins, embedded store / bare echo, 1,000,000 waiting":  "1.03 yes",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("also: %v", got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := found().write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"4 May 2026, in 6m40s",
		"| HTTP polls, Redis / bare echo, 1,000,000 waiting | 0.70 | at least 0.80 | NO |",
		"| 1,000,000 | Redis | 21,000 | 0.70 |",
		"| 10,000 | minimal | 2.00 µs | 1.00 |",
		"| 1,000,000 | ours | 5.00 µs | 1.11 |",
		"| embedded | 16,500 | 330,000 |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("performance.md has no %q", want)
		}
	}
	if strings.Contains(string(text), "<no value>") || strings.Contains(string(text), "NaN") {
		t.Errorf("performance.md has holes:\n%s", text)
	}
	plots, err := filepath.Glob(filepath.Join(dir, "img", "*.svg"))
	if err != nil || len(plots) != 4 {
		t.Fatalf("plots %v, %v", plots, err)
	}
	for _, name := range plots {
		if !strings.Contains(string(text), "img/"+filepath.Base(name)) {
			t.Errorf("performance.md does not show %s", filepath.Base(name))
		}
		checkXML(t, name)
	}
}

// checkXML fails if the file is not well-formed, or names no number.
func checkXML(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%s draws what is no number", name)
	}
	d := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// What was not measured leaves holes, not faults.
func TestPrintsParts(t *testing.T) {
	t.Parallel()
	for _, r := range []*results{found(), {plan: quickPlan}} {
		var out strings.Builder
		if err := r.print(&out); err != nil || out.Len() == 0 {
			t.Errorf("printed %d bytes, %v", out.Len(), err)
		}
		for _, plot := range []string{r.plotPolls(), r.plotLatency(), r.plotScripts(), r.plotSweep()} {
			if strings.Contains(plot, "NaN") {
				t.Error("a plot of nothing draws what is no number")
			}
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0.00", 0.126: "0.13", 1: "1.00", 12.34: "12.3", 123.4: "123"} {
		if got := figure(v, ""); got != want {
			t.Errorf("figure(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(v); got != want {
			t.Errorf("count(%d) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]int{99: 99, 101: 100, 1_234_567: 1_200_000} {
		if got := roundDown(v); got != want {
			t.Errorf("roundDown(%v) = %d, want %d", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 15: "15", 250: "250", 2500: "2.5k", 30_000: "30k"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for high, want := range map[float64][]float64{
		0: {0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}, 7: {0, 2, 4, 6, 8}, 33_000: {0, 10_000, 20_000, 30_000, 40_000},
	} {
		if got := goodTicks(high); !slices.Equal(got, want) {
			t.Errorf("goodTicks(%v) = %v, want %v", high, got, want)
		}
	}
	for _, tt := range []struct {
		low, high float64
		want      []float64
	}{
		{0.3, 4, []float64{0.2, 0.5, 1, 2, 5}}, {1, 10, []float64{1, 2, 5, 10}}, {2, 2, []float64{2, 5}}, {6, 60, []float64{5, 10, 20, 50, 100}},
	} {
		if got := decades(tt.low, tt.high); !slices.Equal(got, tt.want) {
			t.Errorf("decades(%v, %v) = %v, want %v", tt.low, tt.high, got, tt.want)
		}
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	s := series{
		"a": {{perSecond: 10}, {perSecond: 40}, {perSecond: 30}},
		"b": {{perSecond: 5}, {perSecond: 40}, {perSecond: 10}},
	}
	if got := s.median("a", perSecond); got != 30 {
		t.Errorf("median %v", got)
	}
	if got := s.ratio("a", "b", perSecond); got != 2 { // of 2, 1 and 3
		t.Errorf("ratio %v", got)
	}
	if got := s.ratio("a", "nobody", perSecond); got != 0 {
		t.Errorf("ratio to nobody %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four %v", got)
	}
	times := []time.Duration{1, 2, 3, 4}
	if percentile(times, 50) != 3 || percentile(times, 99) != 4 || percentile(nil, 50) != 0 {
		t.Errorf("percentiles %v, %v, %v", percentile(times, 50), percentile(times, 99), percentile(nil, 50))
	}
}
