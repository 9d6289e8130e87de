package main

import (
	"github.com/spf13/cobra"
)

func newScalingCommand() *cobra.Command {
	c := &cobra.Command{Use: "scaling", Short: "Writes the pages made of performance.json: performance.md and scaling.md", Args: cobra.NoArgs}
	docs := c.Flags().String("docs", "docs", "the `folder` of performance.json and its pages")
	c.RunE = func(*cobra.Command, []string) error {
		r, err := readReport(*docs)
		if err != nil {
			return err
		}
		return r.write(*docs)
	}
	return c
}

// costs are those of one request with the largest crowd waiting, in
// microseconds of processor time, and of one who waits, in bytes; 0: unknown.
type costs struct {
	EmbeddedPoll, ServerPoll, RedisPoll float64
	EmbeddedJoin, ServerJoin, RedisJoin float64
	EmbeddedBytes, RedisBytes           float64
	// Million is what was found with a very large crowd; nil: nothing.
	Million *millionReport
}

// costsIn takes them from what was measured.
func costsIn(r report) costs {
	if r.Bench == nil {
		return costs{Million: r.Million}
	}
	l := r.Bench.Last()
	poll, join := l.Polls.Of(onRedis), l.Joins.Of(onRedis)
	return costs{
		EmbeddedPoll: l.Polls.Of(onEmbedded).ServerMicros, ServerPoll: poll.ServerMicros, RedisPoll: poll.RedisMicros,
		EmbeddedJoin: l.Joins.Of(onEmbedded).ServerMicros, ServerJoin: join.ServerMicros, RedisJoin: join.RedisMicros,
		EmbeddedBytes: l.Bytes[onEmbedded], RedisBytes: l.Bytes[onRedis], Million: r.Million,
	}
}

// idleShare of a processor is left for peaks, fail-overs and the system.
const idleShare = .5

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
	return count(roundDown(processors * seconds * (1 - idleShare) * 1e6 / micros))
}

// AtHalf is how many visitors, who poll as those did, take half of Redis's core. Only the
// polls that were made count.
func (m *millionReport) AtHalf() int {
	if m.RedisShare == 0 {
		return 0
	}
	return roundDown(float64(m.Waiting) * (1 - m.LeftOut) * (1 - idleShare) / m.RedisShare)
}

// Needs writes what so many polls and joins a second need: the processors of servers at
// half load, and percent of the one of their Redis.
func (c costs) Needs(polls, joins float64) string {
	return known((polls*c.ServerPoll+joins*c.ServerJoin)/1e6/(1-idleShare), "") + " | " + known(100*(polls*c.RedisPoll+joins*c.RedisJoin)/1e6, "%")
}

// Memory is what Redis keeps of so many visitors.
func (c costs) Memory(visitors float64) string { return known(visitors*c.RedisBytes/1e6, "MB") }
