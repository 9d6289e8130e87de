//go:build bench

package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMeasure runs the whole of it, at a size that takes minutes: real
// servers, a real Redis. The figures are worth nothing; that they are there is.
func TestMeasure(t *testing.T) {
	t.Parallel()
	p := plan{
		sizes: []int{200, 500}, Conns: 8, Warm: 10 * time.Millisecond, Span: 60 * time.Millisecond,
		Rounds: 2, idle: 100, limitClients: 200, OverloadConns: 32,
		Million: 3_000, MillionRound: 100 * time.Millisecond, MillionWarm: time.Second, MillionSpan: 2 * time.Second, Rush: 500, RushWithin: 100 * time.Millisecond,
	}
	var says bytes.Buffer
	out, err := measureAll(t.Context(), measureOptions{only: "all"}, p, &says)
	if err != nil {
		t.Fatalf("%v\n%s", err, says.String())
	}
	if len(out.Bench.Steps) != 2 {
		t.Fatalf("%d steps, want 2", len(out.Bench.Steps))
	}
	for _, s := range out.Bench.Steps {
		for what, part := range map[string]results{"polls": s.Polls, "joins": s.Joins, "latency": s.Latency} {
			for _, name := range serversShown {
				if part.Of(name).PerSecond <= 0 {
					t.Errorf("%d waiting, %s, %s: %+v", s.Waiting, what, name, part)
				}
			}
		}
		if r := s.Polls.Of(onRedis); r.Together < 1 || r.RedisMicros <= 0 {
			t.Errorf("%d waiting: of Redis we know %+v", s.Waiting, r)
		}
	}
	if out.Bench.AppendOnly.Of(onRedis).PerSecond <= 0 {
		t.Error("nothing was measured while Redis wrote to disk")
	}
	if len(out.Bench.Scripts) != 4 || out.Bench.Growth <= 0 || slices.ContainsFunc(out.Bench.Scripts, func(s scriptCost) bool { return s.Micros <= 0 }) {
		t.Errorf("scripts: %+v", out.Bench.Scripts)
	}
	// Those who were let in meanwhile are not there to be swept.
	if len(out.Bench.Sweeps) != 1 {
		t.Errorf("sweeps: %+v", out.Bench.Sweeps)
	}
	for _, s := range out.Bench.Sweeps {
		if s.Removed < 90 || s.Removed > 100 || s.Calls == 0 || s.Longest == 0 || s.Waiting != 500 {
			t.Errorf("sweep: %+v", s)
		}
	}
	last := out.Bench.Last()
	for what, part := range map[string]results{"joins with a clientId": last.Named, "polls near the front": last.Near} {
		for _, name := range append(slices.Clone(serversShown), constant) {
			if part.Of(name).PerSecond <= 0 {
				t.Errorf("%s, %s: %+v", what, name, part)
			}
		}
	}
	if len(out.Bench.Overload) != 6 || slices.ContainsFunc(out.Bench.Overload, func(o overloadCost) bool { return o.Ratio <= 0 }) {
		t.Errorf("overload: %+v", out.Bench.Overload)
	}
	// And the longest calls, of which such short ones are not noted.
	if n := len(out.Bench.Targets()) - len(out.Bench.Longest); n != 18 {
		t.Errorf("%d targets, want 18", n)
	}
	if m := out.Million; m.Polls <= 0 || m.Admitted == 0 || m.MostWindow > int(m.Limit) || m.Lost > 0 || m.Rose > 0 || m.RedisShare <= 0 ||
		m.Bytes <= 0 || m.Rush.Took < 100*time.Millisecond || m.Rush.JoinMicros <= 0 {
		t.Errorf("the very large crowd: %+v", m)
	}
	if l := out.Limits; len(l.Targets()) != 3 || l.HTTP.Of("sliding_log").PerSecond <= 0 || l.Refusals.Of(refusals).Ratio <= 0 ||
		len(l.Decisions) != 5 || l.Decisions[0].Refused <= 0 || l.DeepLog <= 0 || len(l.Longest) != 3 {
		t.Errorf("limits: %+v", l)
	}
	for _, name := range serversShown {
		if r := out.Site.Sessions.Of(name); r.PerSecond <= 0 || r.Refused > 0 {
			t.Errorf("sessions, %s: %+v", name, r)
		}
	}
	kept(t, t.TempDir(), out)
	if lines := strings.Count(says.String(), "\n"); lines != strings.Count(says.String(), "/") || lines < 10 {
		t.Errorf("progress: %s", says.String())
	}
}

func TestMeasureFails(t *testing.T) {
	t.Parallel()
	c := measureOptions{server: "/nowhere/queue-server", only: "all"}
	if _, err := measureAll(t.Context(), c, quickPlan, &bytes.Buffer{}); err == nil {
		t.Error("it measured without a queue-server")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measureAll(ctx, c, quickPlan, &bytes.Buffer{}); err == nil {
		t.Error("it measured after it had been stopped")
	}
}
