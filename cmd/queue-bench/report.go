package main

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/window"
)

// reportFile is where all that was measured is kept, beside the pages made of it.
const reportFile = "performance.json"

// report is all that was measured: a part is as its latest run found it, nil if there
// was none. What a run left out is zero.
type report struct {
	Bench    *benchReport   `json:"bench,omitempty"`
	Limits   *limitsReport  `json:"limits,omitempty"`
	Site     *siteReport    `json:"site,omitempty"`
	LoadTest *loadReport    `json:"loadTest,omitempty"`
	Million  *millionReport `json:"million,omitempty"`
}

type (
	// occasion is when something was measured, how long that took, and on what.
	occasion struct {
		When time.Time     `json:"when"`
		Took time.Duration `json:"tookNanos"`
		machine
	}
	// machine is what was measured on.
	machine struct {
		Cores       int    `json:"cores"`
		Processor   string `json:"processor"`
		System      string `json:"system"`
		Go          string `json:"go"`
		Redis       string `json:"redis,omitzero"`
		LoadAverage string `json:"loadAverage,omitzero"`
	}
	benchReport struct {
		occasion
		Plan  plan   `json:"plan"`
		Steps []step `json:"steps,omitempty"`
		// AppendOnly are polls of the largest crowd while Redis writes to disk.
		AppendOnly results `json:"appendOnly,omitempty"`
		// Scripts are what our script and the minimal one cost Redis, each beside the
		// minimal one with the same crowd.
		Scripts []scriptCost `json:"scripts,omitempty"`
		// Growth is what ours costs with the largest crowd, by what it does with the
		// smallest.
		Growth       float64     `json:"growth,omitzero"`
		MinimalBytes float64     `json:"minimalBytes,omitzero"`
		Sweeps       []sweepCost `json:"sweeps,omitempty"`
		// Longest are the longest script calls, by what was asked.
		Longest  []longestCall  `json:"longest,omitempty"`
		Overload []overloadCost `json:"overload,omitempty"`
	}
	// step is what was found at one size of the crowd.
	step struct {
		Waiting int     `json:"waiting"`
		Polls   results `json:"polls"`
		Latency results `json:"latency"`
		// Joins are from this size on to the next.
		Joins results `json:"joins"`
		// Named are joins with a clientId, and Near polls of the first 51,200; of the largest
		// crowd only.
		Named results `json:"named,omitempty"`
		Near  results `json:"near,omitempty"`
		// Bytes are those of a waiting visitor, by store.
		Bytes map[string]float64 `json:"bytes"`
	}
	scriptCost struct {
		Waiting int     `json:"waiting"`
		Script  string  `json:"script"`
		Micros  float64 `json:"redisMicros"`
		Ratio   float64 `json:"ratio"`
	}
)

// describeMachine says what can be found out; the rest is "unknown".
func describeMachine() machine {
	m := machine{
		Cores: runtime.NumCPU(), Go: strings.TrimPrefix(runtime.Version(), "go"),
		Processor: "unknown", System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}
	if cores, err := proc.CPUInfo(); err == nil && len(cores) > 0 {
		m.Processor = cores[0].ModelName
	}
	if release, err := proc.SysctlStrings("kernel.osrelease"); err == nil && len(release) > 0 {
		// Without what a distributor or a cloud appends to it.
		number := strings.FieldsFunc(release[0], func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		m.System = "Linux " + append(number, "")[0] + ", " + runtime.GOARCH
	}
	if load, err := proc.LoadAvg(); err == nil {
		m.LoadAverage = strconv.FormatFloat(load.Load1, 'f', 2, 64)
	}
	return m
}

// Last is the step with the largest crowd.
func (b *benchReport) Last() step { return append([]step{{}}, b.Steps...)[len(b.Steps)] }

// mostHeld is the longest, in milliseconds, that a script call may hold the store.
const mostHeld = 10

// target is one figure beside the most, or the least, that it should be.
type target struct {
	Name  string
	Value float64
	Unit  string
	Bound float64
	Least bool
}

// Wanted writes the bound down.
func (t target) Wanted() string {
	return map[bool]string{true: "at least ", false: "at most "}[t.Least] + figure(t.Bound, t.Unit)
}

// Met reports whether the bound is kept.
func (t target) Met() string {
	if t.Value == t.Bound || t.Least == (t.Value > t.Bound) {
		return "yes"
	}
	return "NO"
}

// Targets are all figures that have a bound, of those that were measured.
func (b *benchReport) Targets() (out []target) {
	least := func(name string, value, bound float64) { out = append(out, target{name, value, "", bound, true}) }
	most := func(name string, value float64, unit string, bound float64) {
		out = append(out, target{name, value, unit, bound, false})
	}
	for _, s := range b.Steps {
		at := ", embedded store / bare echo, " + count(s.Waiting) + " waiting"
		least("HTTP polls"+at, s.Polls.Of(onEmbedded).Ratio, 1)
		least("HTTP joins"+at, s.Joins.Of(onEmbedded).Ratio, 1)
	}
	if len(b.Steps) > 0 {
		l := b.Last()
		at := ", " + count(l.Waiting) + " waiting"
		least("HTTP polls, Redis / embedded store"+at, l.Polls.of(onRedis, onEmbedded), 0.9)
		least("HTTP joins, Redis / embedded store"+at, l.Joins.of(onRedis, onEmbedded), 0.85)
		most("Redis CPU a poll"+at, l.Polls.Of(onRedis).RedisMicros, "µs", 0.6)
		most("Redis CPU a join"+at, l.Joins.Of(onRedis).RedisMicros, "µs", 3)
		most("Redis CPU a join with a clientId"+at, l.Named.Of(onRedis).RedisMicros, "µs", 4)
		most("a waiting visitor in Redis"+at, l.Bytes[onRedis], "bytes", 90)
		most("a waiting visitor in the embedded store"+at, l.Bytes[onEmbedded], "bytes", 100)
	}
	for _, o := range b.Overload {
		if o.Server == bareEcho {
			continue
		}
		least(fmt.Sprintf("%s, %s: answered of 3 times the peak / peak", o.Server, o.Asked), o.Ratio, 0.95)
	}
	if len(b.Scripts) > 0 {
		most("Redis CPU a poll / minimal script's, large crowd", b.Scripts[len(b.Scripts)-1].Ratio, "", 1.2)
		most("Redis CPU a poll, large crowd / small crowd", b.Growth, "", 1.5)
	}
	for _, c := range b.Longest {
		most("longest script call, "+c.Name, millis(c.Took), "ms", mostHeld)
	}
	for _, s := range b.Sweeps {
		if s.Store == onRedis {
			most("longest call of a sweep of "+count(s.Removed)+" idle among "+count(s.Waiting), millis(s.Longest), "ms", mostHeld)
		}
	}
	return out
}

// Targets are the figures of the very large crowd that have a bound.
func (m *millionReport) Targets() []target {
	return []target{
		{"share of Redis's core", 100 * m.RedisShare, "%", 100 * (1 - idleShare), false},
		{"longest script call", millis(max(held(m.Longest), held(m.Rush.Longest))), "ms", mostHeld, false},
		{"most admissions in a window", float64(m.MostWindow), "", float64(m.Limit), false},
		{"most admissions in a minute", float64(m.MostMinute), "", float64(m.PerMinute), false},
		{"overtaken (p99), in windows' worth of visitors", m.OvertakenP99, "", 0.5, false},
		{"overtaken (most), in windows' worth of visitors", m.OvertakenMost, "", 2, false},
		{"places lost", float64(m.Lost), "", 0, false},
		{"positions that rose", float64(m.Rose), "", 0, false},
	}
}

// Targets are the figures on limits that have a bound.
func (l *limitsReport) Targets() []target {
	longest := time.Duration(0)
	for _, call := range l.Longest {
		longest = max(longest, call.Took)
	}
	return []target{
		{"HTTP decisions, sliding_log / fixed_window", l.HTTP.Of(string(limit.SlidingLog)).Ratio, "", 0.93, true},
		{"HTTP refusals from memory / bare echo", l.Refusals.Of(refusals).Ratio, "", 1, true},
		{"longest script call of a decision", millis(longest), "ms", mostHeld, false},
	}
}

//go:embed *.tmpl
var templates embed.FS

// pages are the templates, each named as its file, and what they write figures with.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"count": count, "figure": figure, "measured": measured, "percent": percent, "ms": millis, "carries": carries,
	"day":       func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"took":      func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"roundDown": roundDown, "half": func(v float64) float64 { return v / 2 },
	"percentage": func(share float64) float64 { return 100 * share },
	"farPeriod":  func() time.Duration { return window.FarPeriodMillis * time.Millisecond },
	"farPolls":   func(perSecond float64) float64 { return perSecond * window.FarPeriodMillis / 1000 },
	"perMinute":  func() int64 { return zoneFor(benchZone).PerMinute },
	"megabytes":  func(bytes int64) float64 { return float64(bytes) / 1e6 }, "held": held, "late": func() time.Duration { return late },
	"calls": func() int { return together256 }, "clients": func() int { return httpClients }, "insiders": func() int { return insiders },
}).ParseFS(templates, "*.tmpl"))

// readReport reads a folder's; an empty one if there is none.
func readReport(dir string) (r report, err error) {
	text, err := os.ReadFile(filepath.Join(dir, reportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", reportFile, err)
	}
	return r, nil
}

// keep puts the parts that were measured into a folder's report, and writes the pages
// that are made of it.
func (r report) keep(dir string) error {
	whole, err := readReport(dir)
	if err != nil {
		return err
	}
	whole = report{
		cmp.Or(r.Bench, whole.Bench), cmp.Or(r.Limits, whole.Limits), cmp.Or(r.Site, whole.Site),
		cmp.Or(r.LoadTest, whole.LoadTest), cmp.Or(r.Million, whole.Million),
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, reportFile), append(text, '\n'), 0o644), whole.write(dir))
}

// write writes the pages in a folder of documents.
func (r report) write(dir string) error {
	files, err := r.files()
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}

// files are all pages made of the report, by name.
func (r report) files() (map[string]string, error) {
	var performance, scaling strings.Builder
	err := errors.Join(
		pages.ExecuteTemplate(&performance, "performance.md.tmpl", r),
		pages.ExecuteTemplate(&scaling, "scaling.md.tmpl", costsIn(r)),
	)
	return map[string]string{"performance.md": performance.String(), "scaling.md": scaling.String()}, err
}

// measured writes a value, and - for 0, which was not measured.
func measured(v float64, unit string) string {
	if v == 0 {
		return "-"
	}
	return figure(v, unit)
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
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64)+" "+unit, " ")
}

// count writes a number with commas, without its fraction.
func count(v any) string {
	if f, is := v.(float64); is {
		v = int(f)
	}
	return message.NewPrinter(language.English).Sprint(v)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// roundDown leaves two digits.
func roundDown(v float64) int {
	n, unit := int(v), 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}
