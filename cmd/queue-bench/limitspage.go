package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/limit"
)

// The part of performance.md on limits lies between these marks, so that it can be
// measured by itself.
const (
	limitsBegin = "<!-- make bench ONLY=limits writes from here -->"
	limitsEnd   = "<!-- to here; limits -->"
)

//go:embed limits.md.tmpl
var limitsText string

var limitsTemplate = template.Must(template.New("limits.md").Parse(limitsText))

// errNoLimits: the document has no such marks.
var errNoLimits = errors.New("performance.md has no section for limits: run make bench")

type (
	limitsPage struct {
		When, Took, Processor, System, Go, RedisVersion                                           string
		Cores, Conns, ShardServers                                                                int
		Clients, Refusals, RefusalsRatio, EchoAnswers, RefusalByCPU, RefusalCPU, EchoCPU, DeepLog string
		ShardLimit, ShardWindow                                                                   string
		Targets                                                                                   []targetRow
		HTTP                                                                                      []limitRow
		Redis                                                                                     []limitRow
		Logs                                                                                      []logRow
		Longest                                                                                   []longestRow
		ShardLoads                                                                                []string
		Shards                                                                                    []shardRow
	}
	limitRow struct {
		Name, PerSecond, Ratio, ByCPU, ServerCPU, RedisCPU, Allowed, Refused, Bytes, Own string
	}
	logRow     struct{ Permits, Bytes, Own string }
	longestRow struct{ Name, Took string }
	shardRow   struct {
		Parts string
		Used  []string
	}
)

// longestNames are the worst that can be asked, in order.
var longestNames = []string{logForgets, clockIsSet, eightRules}

// targets are the figures on limits that have a bound.
func (l *limitsCost) targets() []target {
	if len(l.http.decisions) == 0 {
		return nil
	}
	longest := time.Duration(0)
	for _, took := range l.longest {
		longest = max(longest, took)
	}
	return []target{
		{"HTTP decisions, sliding_log / fixed_window", l.http.decisions.ratio(string(limit.SlidingLog), string(limit.FixedWindow), perSecond), "", 0.93, true},
		{"HTTP refusals from memory / bare echo", l.http.refusals.ratio(refusals, bareEcho, perSecond), "", 1, true},
		{"longest script call of a decision", millis(longest), "ms", mostSweepMillis, false},
	}
}

func (r *results) limitsPage() limitsPage {
	l := &r.limits
	p := limitsPage{
		When: r.began.UTC().Format("2 January 2006"), Took: r.limitsTook.Round(time.Second).String(),
		Processor: r.machine.processor, System: r.machine.system, Go: r.machine.golang, RedisVersion: r.machine.redis,
		Cores: r.machine.cores, Conns: r.plan.conns, ShardServers: shardServers, Clients: count(httpClients),
		Refusals:      count(int(l.http.refusals.median(refusals, perSecond))),
		RefusalsRatio: figure(l.http.refusals.ratio(refusals, bareEcho, perSecond), ""),
		RefusalByCPU:  figure(l.http.refusals.ratio(bareEcho, refusals, allMicros), ""),
		EchoAnswers:   count(int(l.http.refusals.median(bareEcho, perSecond))),
		RefusalCPU:    figure(l.http.refusals.median(refusals, serverMicros), "µs"),
		EchoCPU:       figure(l.http.refusals.median(bareEcho, serverMicros), "µs"),
		DeepLog:       figure(l.decisions.median(decision(limit.SlidingLog, deepLog), redisMicros), "µs"),
		ShardLimit:    count(shardLimit), ShardWindow: shardWindow.String(),
	}
	for _, t := range l.targets() {
		p.Targets = append(p.Targets, targetRow{t.name, figure(t.value, t.unit), t.wanted(), t.verdict()})
	}
	for _, a := range limit.Algorithms {
		s := l.http.decisions
		p.HTTP = append(p.HTTP, limitRow{
			Name: string(a), PerSecond: count(int(s.median(string(a), perSecond))),
			Ratio:     figure(s.ratio(string(a), string(limit.FixedWindow), perSecond), ""),
			ByCPU:     figure(s.ratio(string(limit.FixedWindow), string(a), allMicros), ""),
			ServerCPU: figure(s.median(string(a), serverMicros), "µs"), RedisCPU: figure(s.median(string(a), redisMicros), "µs"),
		})
		p.Redis = append(p.Redis, limitRow{
			Name:    string(a),
			Allowed: figure(l.decisions.median(decision(a, allowed), redisMicros), "µs"),
			Refused: figure(l.decisions.median(decision(a, refusal), redisMicros), "µs"),
			Bytes:   figure(l.keys[a], "bytes"), Own: figure(l.ownKeys[a], "bytes"),
		})
	}
	for _, n := range logSizes {
		p.Logs = append(p.Logs, logRow{count(n), figure(l.logs[n], "bytes"), figure(l.ownLogs[n], "bytes")})
	}
	for _, name := range longestNames {
		p.Longest = append(p.Longest, longestRow{name, figure(millis(l.longest[name]), "ms")})
	}
	for _, load := range shardLoads {
		p.ShardLoads = append(p.ShardLoads, fmt.Sprintf("%.0f %%", 100*load))
	}
	for _, s := range l.shards {
		row := shardRow{Parts: count(int(s.parts))}
		for _, used := range s.used {
			row.Used = append(row.Used, fmt.Sprintf("%.1f %%", 100*used))
		}
		p.Shards = append(p.Shards, row)
	}
	return p
}

// limitsSection is the part on limits, with its marks.
func (r *results) limitsSection() (string, error) {
	var out strings.Builder
	out.WriteString(limitsBegin + "\n")
	if err := limitsTemplate.Execute(&out, r.limitsPage()); err != nil {
		return "", err
	}
	return out.String() + limitsEnd, nil
}

// writeLimits writes the part on limits into a folder's performance.md, and nothing
// else.
func (r *results) writeLimits(dir string) error {
	name := filepath.Join(dir, "performance.md")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), limitsBegin)
	_, behind, found2 := strings.Cut(rest, limitsEnd)
	if !found || !found2 {
		return errNoLimits
	}
	section, err := r.limitsSection()
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(before+section+behind), 0o644)
}

// printLimits writes the part on limits for a terminal: as it is in the document.
func (r *results) printLimits(w io.Writer) error {
	if len(r.limits.decisions) == 0 {
		return nil
	}
	return limitsTemplate.Execute(w, r.limitsPage())
}
