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

type (
	// costs are those with the largest crowd waiting. What is 0 is unknown.
	costs struct {
		Embedded, Redis storeCosts
		// Million is what was found with a very large crowd; nil: nothing.
		Million *millionReport
	}
	// storeCosts are what a server on a store showed, and the bytes of one who waits.
	storeCosts struct {
		Poll, Join result
		Bytes      float64
	}
)

// costsIn takes them from what was measured.
func costsIn(r report) costs {
	out := costs{Million: r.Million}
	if r.Bench != nil {
		l := r.Bench.Last()
		on := func(store string) storeCosts { return storeCosts{l.Polls.Of(store), l.Joins.Of(store), l.Bytes[store]} }
		out.Embedded, out.Redis = on(onEmbedded), on(onRedis)
	}
	return out
}

// idleShare of a processor is left for peaks, fail-overs and the system.
const idleShare = .5

// carries writes how many requests a second that many processors do at half load
// which cost so much each, in microseconds; each asks once in so many seconds.
func carries(micros, processors, seconds float64) string {
	if micros == 0 {
		return "-"
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
	servers := polls*c.Redis.Poll.ServerMicros + joins*c.Redis.Join.ServerMicros
	redis := polls*c.Redis.Poll.RedisMicros + joins*c.Redis.Join.RedisMicros
	return measured(servers/1e6/(1-idleShare), "") + " | " + measured(100*redis/1e6, "%")
}

// Memory is what Redis keeps of so many visitors.
func (c costs) Memory(visitors float64) string { return measured(visitors*c.Redis.Bytes/1e6, "MB") }
