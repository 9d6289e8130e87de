package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
)

//go:embed scaling.md.tmpl
var scalingText string

var scaling = template.Must(template.New("scaling.md").Parse(scalingText))

// scalingCommand is queue-bench scaling.
type scalingCommand struct {
	Docs string `default:"docs" placeholder:"DIR" help:"Where performance.md is, and scaling.md is written."`
}

// Run writes scaling.md, and the tables of deploy/terraform/examples.
func (c *scalingCommand) Run() error { return writeScaling(c.Docs) }

// writeScaling writes all that is computed from performance.md in that folder.
func writeScaling(dir string) error {
	text, err := scalingPage(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "scaling.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return writeClouds(dir)
}

// scalingPage fills the template from performance.md; with what is not there
// yet left open.
func scalingPage(dir string) (string, error) {
	measured, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var out strings.Builder
	if err := scaling.Execute(&out, capacityOf(costsIn(string(measured)))); err != nil {
		return "", err
	}
	return out.String(), nil
}

// costs are those of one request with the largest crowd waiting, in
// microseconds of processor time, and of one who waits, in bytes; 0: unknown.
type costs struct {
	embeddedPoll, serverPoll, redisPoll float64
	embeddedJoin, serverJoin, redisJoin float64
	embeddedBytes, redisBytes           float64
}

// costsIn reads them from the tables of performance.md. The last row of a
// table that begins so is that of the largest crowd.
func costsIn(document string) (c costs) {
	section := ""
	for l := range strings.Lines(document) {
		if strings.HasPrefix(l, "#") {
			section = strings.TrimSpace(strings.TrimLeft(l, "#"))
		}
		cells := strings.Split(l, "|")
		cell := func(i int) float64 {
			if i >= len(cells) {
				return 0
			}
			number, _, _ := strings.Cut(strings.TrimSpace(cells[i]), " ")
			v, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return 0
			}
			return v
		}
		const serverColumn, redisColumn = 6, 7
		switch {
		case len(cells) < 5:
		case section == "Memory":
			c.embeddedBytes, c.redisBytes = cell(2), cell(3)
		case section == "Polls" && strings.TrimSpace(cells[2]) == onEmbedded:
			c.embeddedPoll = cell(serverColumn)
		case section == "Polls" && strings.TrimSpace(cells[2]) == onRedis:
			c.serverPoll, c.redisPoll = cell(serverColumn), cell(redisColumn)
		case section == "Joins" && strings.TrimSpace(cells[2]) == onEmbedded:
			c.embeddedJoin = cell(serverColumn)
		case section == "Joins" && strings.TrimSpace(cells[2]) == onRedis:
			c.serverJoin, c.redisJoin = cell(serverColumn), cell(redisColumn)
		}
	}
	return c
}

type (
	// capacity is what scaling.md is filled with.
	capacity struct {
		Measured                            bool
		EmbeddedPoll, ServerPoll, RedisPoll string
		EmbeddedJoin, ServerJoin, RedisJoin string
		EmbeddedBytes, RedisBytes           string
		// Carried at half load.
		CorePolls, CoreVisitors, CoreEmbedded, CoreEmbeddedVisitors string
		RedisPolls, RedisVisitors, RedisJoins, Cluster3, Cluster6   string
		Lines                                                       []lineRow
		Rush                                                        []rushRow
	}
	lineRow struct{ Visitors, PerMinute, Wait, Each, Settled, Cores, Redis, Memory, Network string }
	rushRow struct{ Visitors, Within, Joins, Peak, Cores, Redis string }
)

const (
	// half of a processor is left for peaks, fail-overs and the system.
	half = .5
	// settledPeriod is what one far back polls at on average, in seconds: the
	// longest period, less the half of the jitter that the cap cuts off, and the
	// way there and back.
	settledPeriod = 19.4
	// pollBytes is what a poll and its answer take on the wire, with TCP, TLS
	// and a browser's headers.
	pollBytes = 2000
)

// unknown stands where nothing was measured.
const unknown = "?"

func orUnknown(v float64, text string) string {
	if v == 0 {
		return unknown
	}
	return text
}

// perSecondAt is how many a processor does at half load that cost so much.
func perSecondAt(micros float64) float64 {
	if micros == 0 {
		return 0
	}
	return half * 1e6 / micros
}

func rounded(v float64) string { return orUnknown(v, count(roundDown(v))) }

func capacityOf(c costs) capacity {
	p := capacity{
		Measured:     c.serverPoll > 0,
		EmbeddedPoll: orUnknown(c.embeddedPoll, figure(c.embeddedPoll, "µs")), ServerPoll: orUnknown(c.serverPoll, figure(c.serverPoll, "µs")),
		RedisPoll:    orUnknown(c.redisPoll, figure(c.redisPoll, "µs")),
		EmbeddedJoin: orUnknown(c.embeddedJoin, figure(c.embeddedJoin, "µs")), ServerJoin: orUnknown(c.serverJoin, figure(c.serverJoin, "µs")),
		RedisJoin:     orUnknown(c.redisJoin, figure(c.redisJoin, "µs")),
		EmbeddedBytes: orUnknown(c.embeddedBytes, figure(c.embeddedBytes, "bytes")), RedisBytes: orUnknown(c.redisBytes, figure(c.redisBytes, "bytes")),
		CorePolls: rounded(perSecondAt(c.serverPoll)), CoreVisitors: rounded(perSecondAt(c.serverPoll) * settledPeriod),
		CoreEmbedded: rounded(perSecondAt(c.embeddedPoll)), CoreEmbeddedVisitors: rounded(perSecondAt(c.embeddedPoll) * settledPeriod),
		RedisPolls: rounded(perSecondAt(c.redisPoll)), RedisVisitors: rounded(perSecondAt(c.redisPoll) * settledPeriod),
		RedisJoins: rounded(perSecondAt(c.redisJoin)),
		Cluster3:   rounded(3 * perSecondAt(c.redisPoll) * settledPeriod), Cluster6: rounded(6 * perSecondAt(c.redisPoll) * settledPeriod),
	}
	for _, n := range []int{10_000, 100_000, 1_000_000, 5_000_000} {
		for _, perMinute := range []int64{6_000, 60_000, 600_000} {
			p.Lines = append(p.Lines, c.line(n, perMinute))
		}
		for _, within := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} {
			p.Rush = append(p.Rush, c.rush(n, within))
		}
	}
	return p
}

// line is what a line of n costs in the third minute, all having come in the first.
func (c costs) line(n int, perMinute int64) lineRow {
	f := foresee(n, perMinute, window.MinuteMillis)
	wait := time.Duration(float64(n) / float64(perMinute) * float64(time.Minute)).Round(time.Second)
	row := lineRow{
		Visitors: count(n), PerMinute: count(int(perMinute)), Wait: inWords(wait), Each: figure(f.each, ""),
		Settled: "gone", Cores: "-", Redis: "-", Memory: "-", Network: "-",
	}
	if wait < 3*time.Minute {
		return row
	}
	row.Settled = count(int(f.settled))
	row.Cores = orUnknown(c.serverPoll, figure(f.settled*c.serverPoll/1e6/half, ""))
	row.Redis = orUnknown(c.redisPoll, figure(100*f.settled*c.redisPoll/1e6, "")+" %")
	row.Memory = orUnknown(c.redisBytes, figure(float64(n)*c.redisBytes/1e6, "")+" MB")
	row.Network = figure(f.settled*pollBytes*8/1e6, "") + " Mbit/s"
	return row
}

// inWords leaves out what nobody plans by.
func inWords(wait time.Duration) string {
	switch {
	case wait < 2*time.Minute:
		return fmt.Sprintf("%.0f s", wait.Seconds())
	case wait < 2*time.Hour:
		return fmt.Sprintf("%.0f min", wait.Minutes())
	default:
		return fmt.Sprintf("%.1f h", wait.Hours())
	}
}

// rush is what the arrival of n within a while costs at its busiest.
func (c costs) rush(n int, within time.Duration) rushRow {
	// A limit so low that nobody is let in meanwhile: the worst case.
	f := foresee(n, 600, within.Milliseconds())
	joins := float64(n) / within.Seconds()
	return rushRow{
		Visitors: count(n), Within: fmt.Sprintf("%.0f s", within.Seconds()), Joins: count(int(joins)), Peak: count(int(f.peak)),
		Cores: orUnknown(c.serverPoll, figure((f.peak*c.serverPoll+joins*c.serverJoin)/1e6/half, "")),
		Redis: orUnknown(c.redisPoll, figure(100*(f.peak*c.redisPoll+joins*c.redisJoin)/1e6, "")+" %"),
	}
}
