//go:build bench

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/limit"
)

// TestMeasure runs the whole of it, at a size that takes seconds: real
// servers, a real Redis. The figures are worth nothing; that they are there is.
func TestMeasure(t *testing.T) {
	t.Parallel()
	p := plan{
		sizes: []int{200, 500}, conns: 8, warm: 10 * time.Millisecond, span: 60 * time.Millisecond,
		rounds: 2, joinRounds: 2, idle: 100, limitClients: 200,
	}
	var says bytes.Buffer
	out, err := measure(t.Context(), measureCommand{Redis: "redis-server", Only: "all"}, p, &says)
	if err != nil {
		t.Fatalf("%v\n%s", err, says.String())
	}
	if len(out.steps) != 2 {
		t.Fatalf("%d steps, want 2", len(out.steps))
	}
	for _, s := range out.steps {
		for what, part := range map[string]series{"polls": s.polls, "joins": s.joins, "latency": s.latency} {
			for _, name := range serversShown {
				if part.median(name, perSecond) <= 0 || len(part[name]) != 2 {
					t.Errorf("%d waiting, %s, %s: %+v", s.waiting, what, name, part[name])
				}
			}
		}
		if s.polls.median(onRedis, together) < 1 || s.polls.median(onRedis, redisMicros) <= 0 {
			t.Errorf("%d waiting: of Redis we know %+v", s.waiting, s.polls[onRedis])
		}
	}
	if out.appendOnly.median(onRedis, perSecond) <= 0 {
		t.Error("nothing was measured while Redis wrote to disk")
	}
	for _, name := range []string{oursLarge, oursSmall, minimalLarge, minimalSmall} {
		if out.scripts.median(name, perSecond) <= 0 {
			t.Errorf("%s: %+v", name, out.scripts[name])
		}
	}
	// Those who were let in meanwhile are not there to be swept.
	for what, s := range map[string]sweepCost{"Redis": out.redisSweep, "embedded": out.inProcess.sweep} {
		if s.removed < 90 || s.removed > 100 || len(s.calls) == 0 || s.waiting != 500 {
			t.Errorf("sweep, %s: %+v", what, s)
		}
	}
	if len(out.targets()) != 9 {
		t.Errorf("%d targets, want 9", len(out.targets()))
	}
	if l := out.limits; len(l.targets()) != 3 || l.http.decisions.median("sliding_log", perSecond) <= 0 ||
		l.decisions.median(decision(limit.SlidingLog, refusal), redisMicros) <= 0 || len(l.shards) == 0 {
		t.Errorf("limits: %+v", l)
	}
	if err := out.write(t.TempDir()); err != nil {
		t.Error(err)
	}
	if lines := strings.Count(says.String(), "\n"); lines != strings.Count(says.String(), "/") || lines < 10 {
		t.Errorf("progress: %s", says.String())
	}
}

func TestMeasureFails(t *testing.T) {
	t.Parallel()
	c := measureCommand{Redis: "/nowhere/redis-server", Server: "/nowhere/queue-server", Only: "all"}
	if _, err := measure(t.Context(), c, quickPlan, &bytes.Buffer{}); err == nil {
		t.Error("it measured without a redis-server")
	}
	c.Redis = "redis-server"
	if _, err := measure(t.Context(), c, quickPlan, &bytes.Buffer{}); err == nil {
		t.Error("it measured without a queue-server")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measure(ctx, c, quickPlan, &bytes.Buffer{}); err == nil {
		t.Error("it measured after it had been stopped")
	}
}
