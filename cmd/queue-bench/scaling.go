package main

import (
	"fmt"
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
)

// scalingCommand is queue-bench scaling.
type scalingCommand struct {
	Docs string `default:"docs" placeholder:"DIR" help:"Where performance.json is, and the pages are written."`
}

// Run writes all pages that are made of performance.json.
func (c *scalingCommand) Run() error {
	r, err := readReport(c.Docs)
	if err != nil {
		return err
	}
	return r.write(c.Docs)
}

// costs are those of one request with the largest crowd waiting, in
// microseconds of processor time, and of one who waits, in bytes; 0: unknown.
type costs struct {
	EmbeddedPoll, ServerPoll, RedisPoll float64
	EmbeddedJoin, ServerJoin, RedisJoin float64
	EmbeddedBytes, RedisBytes           float64
}

// costsIn takes them from what was measured.
func costsIn(r report) costs {
	if r.Bench == nil {
		return costs{}
	}
	l := r.Bench.Last()
	poll, join := l.Polls.Of(onRedis), l.Joins.Of(onRedis)
	return costs{
		EmbeddedPoll: l.Polls.Of(onEmbedded).ServerMicros, ServerPoll: poll.ServerMicros, RedisPoll: poll.RedisMicros,
		EmbeddedJoin: l.Joins.Of(onEmbedded).ServerMicros, ServerJoin: join.ServerMicros, RedisJoin: join.RedisMicros,
		EmbeddedBytes: l.Bytes[onEmbedded], RedisBytes: l.Bytes[onRedis],
	}
}

const (
	// idleShare of a processor is left for peaks, fail-overs and the system.
	idleShare = .5
	// settledPeriod is what one far back polls at on average, in seconds: the
	// longest period, less the half of the jitter that the cap cuts off, and the
	// way there and back.
	settledPeriod = 19.4
	// pollBytes is what a poll and its answer take on the wire, with TCP, TLS
	// and a browser's headers.
	pollBytes = 2000
)

// known writes a value, and ? for 0, which was not measured.
func known(v float64, unit string) string {
	if v == 0 {
		return "?"
	}
	return figure(v, unit)
}

// carries writes how many requests a second that many processors do at half load
// which cost so much each, in microseconds; each asks once in so many seconds.
func carries(micros, processors, seconds float64) string {
	if micros == 0 {
		return "?"
	}
	return count(roundDown(processors * seconds * perSecondAt(micros)))
}

// perSecondAt is how many a processor does at half load that cost so much.
func perSecondAt(micros float64) float64 { return (1 - idleShare) * 1e6 / micros }

// need is what a crowd costs: polls and joins a second, the processors of servers
// at half load, and percent of the one of its Redis.
type need struct {
	Visitors              int
	Polls, Joins          float64
	Cores, Redis          float64
	PerMinute             int64
	Wait, Within          time.Duration
	Each, Megabytes, Mbit float64
}

func (c costs) need(n int, polls, joins float64) need {
	return need{
		Visitors: n, Polls: polls, Joins: joins,
		Cores: (polls*c.ServerPoll + joins*c.ServerJoin) / 1e6 / (1 - idleShare),
		Redis: 100 * (polls*c.RedisPoll + joins*c.RedisJoin) / 1e6,
	}
}

// rush is what the arrival of n within a while costs at its busiest: with a limit so
// low that nobody is let in meanwhile.
func (c costs) rush(n int, within time.Duration) need {
	r := c.need(n, foresee(n, 600, within.Milliseconds()).peak, float64(n)/within.Seconds())
	r.Within = within
	return r
}

// The crowds of scaling.md.
var (
	scalingCrowds = []int{10_000, 100_000, 1_000_000, 5_000_000}
	rushes        = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute}
)

// Lines are what lines cost in the third minute, all having come in the first.
func (c costs) Lines() (out []need) {
	for _, n := range scalingCrowds {
		for _, perMinute := range []int64{6_000, 60_000, 600_000} {
			f := foresee(n, perMinute, window.MinuteMillis)
			l := c.need(n, f.settled, 0)
			l.PerMinute, l.Each, l.Megabytes, l.Mbit = perMinute, f.each, float64(n)*c.RedisBytes/1e6, f.settled*pollBytes*8/1e6
			l.Wait = time.Duration(math.Round(60*float64(n)/float64(perMinute))) * time.Second
			out = append(out, l)
		}
	}
	return out
}

// Gone reports whether nobody is left in the third minute.
func (n need) Gone() bool { return n.Wait < 3*time.Minute }

// Rush is what each crowd costs as it comes.
func (c costs) Rush() (out []need) {
	for _, n := range scalingCrowds {
		for _, within := range rushes {
			out = append(out, c.rush(n, within))
		}
	}
	return out
}

// WaitInWords leaves out what nobody plans by.
func (n need) WaitInWords() string {
	switch {
	case n.Wait < 2*time.Minute:
		return fmt.Sprintf("%.0f s", n.Wait.Seconds())
	case n.Wait < 2*time.Hour:
		return fmt.Sprintf("%.0f min", n.Wait.Minutes())
	default:
		return fmt.Sprintf("%.1f h", n.Wait.Hours())
	}
}
