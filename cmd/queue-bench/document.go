package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
)

//go:embed performance.md.tmpl
var performanceText string

var performance = template.Must(template.New("performance.md").Parse(performanceText))

// page is what the template is filled with.
type page struct {
	Command, When, Took, Slice, Warm           string
	Cores, Rounds, Conns, Together256          int
	Processor, System, Go, RedisVersion, Load  string
	Targets                                    []targetRow
	Polls, Joins, Latency, Scripts             []row
	LongestVisit, Sweep, MinimalBytes, Largest string
	Memory                                     []memoryRow
	InJoin, InPoll, InBytes, InSweep           string
	FarPeriod, AppendOnly                      string
	Carries                                    []carriesRow
	PerMinute                                  int64
	// LoadTest is a section that another command writes.
	LoadTest string
	// Limits are a section that can be measured by itself.
	Limits string
}

type (
	targetRow struct{ Name, Value, Wanted, Met string }
	// row is one contender in one table; each table shows some of it.
	row struct {
		Waiting, Server, PerSecond, Ratio, ByCPU, ServerCPU, RedisCPU, Together, P50, P99 string
	}
	memoryRow  struct{ Waiting, Embedded, Redis string }
	carriesRow struct{ Store, PerSecond, Visitors string }
)

// servers in the order of the tables.
var serversShown = []string{bareEcho, onEmbedded, onRedis}

// write writes the document and its plots to a folder.
func (r *results) write(dir string) error {
	images := filepath.Join(dir, "img")
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		filepath.Join(images, "perf-http.svg"):    r.plotPolls(),
		filepath.Join(images, "perf-latency.svg"): r.plotLatency(),
		filepath.Join(images, "perf-redis.svg"):   r.plotScripts(),
		filepath.Join(images, "perf-sweep.svg"):   r.plotSweep(),
	}
	var text strings.Builder
	p := r.page()
	var err error
	if p.LoadTest, err = presentSection(dir); err != nil {
		return err
	}
	if p.Limits, err = r.limitsSection(); err != nil {
		return err
	}
	if err := performance.Execute(&text, p); err != nil {
		return err
	}
	files[filepath.Join(dir, "performance.md")] = text.String()
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *results) page() page {
	l := r.last()
	p := page{
		Command: "make bench", When: r.began.UTC().Format("2 January 2006"), Took: r.took.Round(time.Second).String(),
		Slice: r.plan.span.String(), Warm: r.plan.warm.String(), Rounds: r.plan.rounds,
		Cores: r.machine.cores, Conns: r.plan.conns, Together256: together256,
		Processor: r.machine.processor, System: r.machine.system, Go: r.machine.golang,
		RedisVersion: r.machine.redis, Load: r.machine.loadAverage,
		LongestVisit: "none above " + longCall.String(),
		Sweep:        r.redisSweep.sentence("Redis"), MinimalBytes: figure(r.minimalBytes, "bytes"),
		Largest: count(l.waiting),
		InJoin:  r.inProcess.join.String(), InPoll: r.inProcess.poll.String(), InBytes: figure(r.inProcess.bytes, "bytes"),
		InSweep:    r.inProcess.sweep.sentence("the store"),
		FarPeriod:  (window.MaxPeriodMillis * time.Millisecond).String(),
		PerMinute:  zoneFor(benchZone).PerMinute,
		AppendOnly: "ratio " + figure(r.appendOnly.ratio(onRedis, bareEcho, perSecond), ""),
	}
	for _, t := range r.targets() {
		p.Targets = append(p.Targets, targetRow{t.name, figure(t.value, t.unit), t.wanted(), t.verdict()})
	}
	longest := time.Duration(0)
	for _, s := range r.steps {
		longest = max(longest, s.longest)
		p.Memory = append(p.Memory, memoryRow{
			count(s.waiting), figure(s.bytes[onEmbedded], "bytes"), figure(s.bytes[onRedis], "bytes"),
		})
		for _, name := range serversShown {
			p.Polls = append(p.Polls, rowOf(s.waiting, name, s.polls))
			p.Joins = append(p.Joins, rowOf(s.waiting, name, s.joins))
			p.Latency = append(p.Latency, rowOf(s.waiting, name, s.latency))
		}
	}
	if longest > 0 {
		p.LongestVisit = longest.String()
	}
	p.Scripts = r.scriptRows()
	for _, name := range []string{onEmbedded, onRedis} {
		most := l.polls.median(name, perSecond)
		p.Carries = append(p.Carries, carriesRow{
			name, count(int(most / 2)), count(roundDown(most / 2 * window.MaxPeriodMillis / 1000)),
		})
	}
	return p
}

// roundDown leaves two digits.
func roundDown(v float64) int {
	n, unit := int(v), 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

func rowOf(waiting int, name string, s series) row {
	r := row{
		Waiting: count(waiting), Server: name, PerSecond: count(int(s.median(name, perSecond))),
		Ratio:     figure(s.ratio(name, bareEcho, perSecond), ""),
		ByCPU:     figure(s.ratio(bareEcho, name, allMicros), ""),
		ServerCPU: figure(s.median(name, serverMicros), "µs"), RedisCPU: "-", Together: "-",
		P50: figure(s.median(name, p50Millis), "ms"), P99: figure(s.median(name, p99Millis), "ms"),
	}
	if name == onRedis {
		r.RedisCPU = figure(s.median(name, redisMicros), "µs")
		r.Together = figure(s.median(name, together), "")
	}
	if share := s.median(name, refused); share > 0 {
		r.PerSecond += fmt.Sprintf(" (%.3f %% refused)", 100*share)
	}
	return r
}

func (r *results) scriptRows() []row {
	var out []row
	for _, size := range []struct {
		waiting       int
		ours, minimal string
	}{{r.plan.sizes[0], oursSmall, minimalSmall}, {r.last().waiting, oursLarge, minimalLarge}} {
		out = append(out,
			row{
				Waiting: count(size.waiting), Server: "minimal",
				RedisCPU: figure(r.scripts.median(size.minimal, redisMicros), "µs"), Ratio: "1.00",
			},
			row{
				Waiting: count(size.waiting), Server: "ours",
				RedisCPU: figure(r.scripts.median(size.ours, redisMicros), "µs"),
				Ratio:    figure(r.scripts.ratio(size.ours, size.minimal, redisMicros), ""),
			})
	}
	return out
}

// sentence says what the sweep did to the store.
func (s sweepCost) sentence(store string) string {
	return fmt.Sprintf("Of %s waiting, %s had fallen silent. %s calls removed them in %v; the longest held %s for %s.",
		count(s.waiting), count(int(s.removed)), count(len(s.calls)), s.took.Round(time.Millisecond), store,
		figure(millis(s.longest()), "ms"))
}

func (r *results) sizes() []string {
	var names []string
	for _, s := range r.steps {
		names = append(names, count(s.waiting))
	}
	return names
}

var colours = map[string]string{bareEcho: grey, onEmbedded: blue, onRedis: orange}

func (r *results) plotPolls() string {
	var all []bars
	for _, name := range serversShown {
		b := bars{name: name, colour: colours[name]}
		for _, s := range r.steps {
			b.values = append(b.values, s.polls.median(name, perSecond))
			b.labels = append(b.labels, "×"+figure(s.polls.ratio(name, bareEcho, perSecond), ""))
		}
		all = append(all, b)
	}
	return barPlot("HTTP polls, as fast as they go", "polls a second; over each bar its ratio to bare echo",
		"visitors waiting", r.sizes(), all)
}

func (r *results) plotLatency() string {
	var all []bars
	for _, name := range serversShown {
		b := bars{name: name, colour: colours[name]}
		for _, of := range []func(sample) float64{p50Millis, p99Millis} {
			for _, s := range r.steps {
				b.values = append(b.values, s.latency.median(name, of))
			}
		}
		all = append(all, b)
	}
	return spanPlot("Latency of polls at half load", "milliseconds, from p50 (dot) to p99 (bar)",
		"visitors waiting", r.sizes(), all)
}

func (r *results) plotScripts() string {
	ours := bars{name: "visit script", colour: orange}
	minimal := bars{name: "minimal script", colour: grey}
	for _, of := range [][2]string{{oursSmall, minimalSmall}, {oursLarge, minimalLarge}} {
		value, by := r.scripts.median(of[0], redisMicros), r.scripts.median(of[1], redisMicros)
		ours.values = append(ours.values, value)
		ours.labels = append(ours.labels, fmt.Sprintf("%s (×%s)", figure(value, ""),
			figure(r.scripts.ratio(of[0], of[1], redisMicros), "")))
		minimal.values = append(minimal.values, by)
		minimal.labels = append(minimal.labels, figure(by, ""))
	}
	return barPlot("Processor time of Redis", "microseconds a poll", "visitors waiting",
		[]string{count(r.plan.sizes[0]), count(r.last().waiting)}, []bars{minimal, ours})
}

func (r *results) plotSweep() string {
	values := make([]float64, len(r.redisSweep.calls))
	for i, took := range r.redisSweep.calls {
		values[i] = millis(took)
	}
	return dotPlot(fmt.Sprintf("Sweep of %s idle among %s in Redis",
		count(int(r.redisSweep.removed)), count(r.redisSweep.waiting)),
		"milliseconds that a call holds the server", "call", values, mostSweepMillis, "at most 10 ms")
}
