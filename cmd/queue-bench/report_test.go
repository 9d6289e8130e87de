package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serversShown are the contenders in the order of the tables.
var serversShown = []string{bareEcho, onEmbedded, onRedis}

// found is a report as a run could have found it.
func found() report {
	of := func(rates ...float64) results {
		s := make(series)
		for i, name := range serversShown {
			for round := range 3 {
				// The machine is half as fast in the second round.
				speed := 1.0
				if round == 1 {
					speed = 0.5
				}
				s[name] = append(s[name], sample{
					PerSecond: rates[i] * speed, ServerMicros: 30 / speed, RedisMicros: float64(i) * 3, Together: 80,
					P50: time.Millisecond, P99: 5 * time.Millisecond,
				})
			}
		}
		return s.results(bareEcho, serversShown...)
	}
	at := func(n int) step {
		return step{
			Waiting: n, Polls: of(30_000, 33_000, 21_000), Latency: of(15_000, 16_000, 12_000),
			Joins: of(30_000, 31_000, 24_000), Named: of(30_000, 31_000, 24_000), Bytes: map[string]float64{onEmbedded: 60, onRedis: 139.6},
		}
	}
	sweep := sweepOf(1_000_000, 200_000, time.Second, []time.Duration{3 * time.Millisecond, 12 * time.Millisecond, 4 * time.Millisecond})
	return report{Bench: &benchReport{
		occasion: occasion{
			When: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Took: 400 * time.Second,
			machine: machine{Cores: 2, Processor: "a <fast> one", System: "Linux 6.1", Go: "1.26", Redis: "7.0"},
		},
		Plan: fullPlan, Steps: []step{at(10_000), at(1_000_000)}, AppendOnly: of(30_000, 0, 18_000),
		Scripts: []scriptCost{{10_000, "minimal", 2, 1}, {10_000, "ours", 4, 2}, {1_000_000, "minimal", 4.5, 1}, {1_000_000, "ours", 5, 1.11}},
		Growth:  1.25, MinimalBytes: 190, Sweeps: []sweepCost{sweep},
		Longest:  []longestCall{{"polls", 2 * time.Millisecond}, {"notes of polls", 11 * time.Millisecond}},
		Overload: []overloadCost{{onRedis, "joins", 30_000, 29_000, 0.97, 0.02, 0}},
	}, Million: &millionReport{
		Waiting: 10_000_000, PerMinute: 60_000, Leave: .35, Span: 3 * time.Minute, Polls: 400_000, FromMemory: .95, LeftOut: .2,
		RedisShare: .4, PollMicros: 1, OwnShare: 1.2, Bytes: 140, Peak: 1_700_000_000, Longest: []longestCall{{"polls", 5 * time.Millisecond}},
		Admitted: 180_000, MostWindow: 6000, Limit: 6000, MostMinute: 60_000, OvertakenP99: .3, OvertakenMost: 1.2, Lost: 1,
		Rush: rush{Joins: 2_000_000, Within: 20 * time.Second, Took: 25 * time.Second, RedisShare: .6, JoinMicros: 6, Longest: []longestCall{{"joins", 12 * time.Millisecond}}},
	}}
}

// kept keeps reports in a folder, one after the other, and returns the page.
func kept(t *testing.T, dir string, reports ...report) string {
	t.Helper()
	for _, r := range reports {
		if err := r.keep(dir); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, dir, "performance.md")
}

// read reads a page; one with holes fails the test.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, hole := range []string{"<no value>", "NaN", "Inf", "%!"} {
		if strings.Contains(string(text), hole) {
			t.Errorf("%s has holes:\n%s", name, text)
		}
	}
	return string(text)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	got := make(map[string]string)
	r := found()
	for _, target := range append(r.Bench.Targets(), r.Million.Targets()...) {
		got[target.Name] = figure(target.Value, target.Unit) + " " + target.Met()
	}
	for name, want := range map[string]string{
		"HTTP polls, embedded store / bare echo, 10,000 waiting":     "1.10 yes",
		"HTTP joins, embedded store / bare echo, 10,000 waiting":     "1.03 yes",
		"HTTP polls, embedded store / bare echo, 1,000,000 waiting":  "1.10 yes",
		"HTTP joins, embedded store / bare echo, 1,000,000 waiting":  "1.03 yes",
		"HTTP polls, Redis / embedded store, 1,000,000 waiting":      "0.64 NO",
		"HTTP joins, Redis / embedded store, 1,000,000 waiting":      "0.77 NO",
		"Redis CPU a poll, 1,000,000 waiting":                        "6.00 µs NO",
		"Redis CPU a join, 1,000,000 waiting":                        "6.00 µs NO",
		"Redis CPU a join with a clientId, 1,000,000 waiting":        "6.00 µs NO",
		"a waiting visitor in Redis, 1,000,000 waiting":              "140 bytes NO",
		"a waiting visitor in the embedded store, 1,000,000 waiting": "60 bytes yes",
		"Redis, joins: answered of 3 times the peak / peak":          "0.97 yes",
		"Redis CPU a poll / minimal script's, large crowd":           "1.11 yes",
		"Redis CPU a poll, large crowd / small crowd":                "1.25 yes",
		"longest script call, polls":                                 "2.00 ms yes",
		"longest script call, notes of polls":                        "11.0 ms NO",
		"longest call of a sweep of 200,000 idle among 1,000,000":    "12.0 ms NO",
		"share of Redis's core":                                      "40.0 % yes",
		"longest script call":                                        "12.0 ms NO",
		"most admissions in a window":                                "6000 yes",
		"most admissions in a minute":                                "60000 yes",
		"overtaken (p99), in windows' worth of visitors":             "0.30 yes",
		"overtaken (most), in windows' worth of visitors":            "1.20 yes",
		"places lost":         "1.00 NO",
		"positions that rose": "0.00 yes",
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

func TestPerformancePage(t *testing.T) {
	t.Parallel()
	page := kept(t, t.TempDir(), found())
	for _, want := range []string{
		"4 May 2026, in 6m40s",
		"| 2 cores, a <fast> one |",
		"| HTTP polls, Redis / embedded store, 1,000,000 waiting | 0.64 | at least 0.90 | NO |",
		"| Redis | joins | 30,000 | 29,000 | 0.97 | 2.0 % |",
		"## 10,000,000 on one Redis", "| 25.0 s | 80,000 | 0 | 60.0 % | 6.00 µs | 12.0 ms |",
		"| 1,000,000 | Redis | 21,000 | 0.70 | 0.83 | 30.0 µs | 6.00 µs | 80.0 |",
		"| 1,000,000 | embedded | 16,000 | 1.00 ms | 5.00 ms |",
		"| 10,000 | minimal | 2.00 µs | 1.00 |",
		"| 1,000,000 | ours | 5.00 µs | 1.11 |",
		"| Redis | 1,000,000 | 200,000 | 3 | 1s | 12.0 ms | 4.00 ms | 12.0 ms |",
		"| embedded | 16,500 | 330,000 |",
		"Not run yet: `make loadtest`",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("performance.md has no %q in\n%s", want, page)
		}
	}
}

// What was not measured leaves holes, not faults.
func TestPartsAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r    report
		want string
	}{
		"nothing": {report{Bench: &benchReport{Plan: quickPlan}}, "## Targets"},
		"limits":  {report{Limits: &limitsReport{Logs: []logCost{{10, 34, 25}}}}, "| 10 | 34 bytes | 25 bytes |"},
		"site": {
			report{Site: &siteReport{Sessions: results{{Name: onEmbedded, Ratio: 0.97}, {Name: onRedis, Ratio: 0.9}}}},
			"| HTTP sessions, server on Redis / bare echo | 0.90 | at least 0.95 | NO |",
		},
	} {
		if page := kept(t, t.TempDir(), tt.r); !strings.Contains(page, tt.want) {
			t.Errorf("%s: no %q in\n%s", name, tt.want, page)
		}
	}
}

// A run leaves alone what another has measured.
func TestKeepsTheOthersParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits := report{Limits: &limitsReport{Conns: 77}}
	page := kept(t, dir, found(), limits, loadTested())
	for _, want := range []string{"| 1,000,000 | ours | 5.00 µs | 1.11 |", "77 connections", "| burst | Redis | 6,000 | 4,500 |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if again := kept(t, dir, found()); again != page {
		t.Error("the same, measured again, makes another page")
	}
	if err := os.WriteFile(filepath.Join(dir, reportFile), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := found().keep(dir); err == nil {
		t.Error("a report that cannot be read was written over")
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0.00", 0.126: "0.13", 1: "1.00", 12.34: "12.3", 123.4: "123"} {
		if got := figure(v, ""); got != want {
			t.Errorf("figure(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[any]string{0: "0", 999: "999", 1000: "1,000", int64(1234567): "1,234,567", 1234.9: "1,234"} {
		if got := count(v); got != want {
			t.Errorf("count(%v) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]int{99: 99, 101: 100, 1_234_567: 1_200_000} {
		if got := roundDown(v); got != want {
			t.Errorf("roundDown(%v) = %d, want %d", v, got, want)
		}
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	s := series{
		"a": {{PerSecond: 10}, {PerSecond: 40}, {PerSecond: 30}},
		"b": {{PerSecond: 5}, {PerSecond: 40}, {PerSecond: 10}},
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
	if got := s.results("b", "b", "nobody", "a"); len(got) != 2 || got[1].Name != "a" || got.Of("a").Ratio != 2 || got.Of("c").Ratio != 0 {
		t.Errorf("results %+v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four %v", got)
	}
}

// The pages that are kept are those that the figures that are kept make.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	r, err := readReport("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.files()
	if err != nil || len(files) != 2 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join("../../docs", name)); err != nil || string(got) != want {
			t.Errorf("%s is not what docs/%s makes it: make scaling (%v)", name, reportFile, err)
		}
	}
	if r.Bench == nil || r.Limits == nil || r.LoadTest == nil {
		t.Error("a part of what was measured is missing")
	}
}
