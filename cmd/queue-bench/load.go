package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// visit is what the connections of a crew do, each in its own goroutine: begin
// makes the request, end sees the answer.
type visit interface {
	// request is what every connection sends, but for what begin changes.
	request() []byte
	// begin prepares c's next request.
	begin(c *client, rng *rand.Rand)
	// end takes in the answer to it, with status 200.
	end(worker int, body []byte) error
}

// tally is what a load did.
type tally struct {
	// done is how many were answered with 200 in the time that counts, and
	// took is that time.
	done int64
	took time.Duration
	// refused is how many answers had another status, of all that were sent.
	refused, sent int64
	// entered is how many may enter.
	entered int64
	// latencies are sorted; of a paced load only.
	latencies []time.Duration
}

func (t tally) perSecond() float64 { return float64(t.done) / t.took.Seconds() }

// patience is how long after the end of a load the last answer may come.
const patience = 10 * time.Second

// load is one load under way, on connections of its own.
type load struct {
	addr  string
	conns int
	visit visit
	// budget ends the load after so many requests, if it is not 0.
	budget int64
	// until ends it at a time.
	until time.Time
	// every is the time between two requests of one connection; 0: none.
	every time.Duration

	crew  crew
	taken atomic.Int64
	cells []cell
}

// cell is what one worker counts, on a cache line of its own.
type cell struct {
	done, refused, entered atomic.Int64
	latencies              []time.Duration
	_                      [64]byte
}

var enters = []byte(`"canEnter":true`)

// saturate sends as fast as answers come, for the span after the warm-up.
func (c *contender) saturate(ctx context.Context, v visit, warm, span time.Duration) (tally, error) {
	return (&load{addr: c.addr, conns: c.conns, visit: v}).run(ctx, warm, span)
}

// finish sends n requests as fast as answers come.
func (c *contender) finish(ctx context.Context, v visit, n int) (tally, error) {
	return (&load{addr: c.addr, conns: c.conns, visit: v, budget: int64(n)}).run(ctx, 0, time.Hour)
}

// pace sends at a rate, evenly spread over the connections, whether answers
// come or not: a connection that has no answer yet when its next request is
// due sends it late, and the lateness counts as latency. What the generator's
// own timers are late does not.
func (c *contender) pace(ctx context.Context, v visit, perSecond float64, warm, span time.Duration) (tally, error) {
	every := time.Duration(float64(c.conns) / perSecond * float64(time.Second))
	return (&load{addr: c.addr, conns: c.conns, visit: v, every: every}).run(ctx, warm, span)
}

func (l *load) run(ctx context.Context, warm, span time.Duration) (t tally, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if l.crew, err = dial(ctx, l.addr, l.conns, l.visit.request()); err != nil {
		return tally{}, err
	}
	defer func() { err = errors.Join(err, l.crew.close()) }()
	start := time.Now()
	l.until = start.Add(warm + span)
	if err := l.crew.deadline(l.until.Add(patience)); err != nil {
		return tally{}, err
	}
	// A connection that waits for its answer does not see that ctx has ended.
	stop := context.AfterFunc(ctx, func() { _ = l.crew.deadline(time.Now()) })
	defer stop()
	l.cells = make([]cell, len(l.crew))
	var workers sync.WaitGroup
	for i := range l.crew {
		workers.Go(func() {
			if err := l.work(ctx, i, start, start.Add(warm)); err != nil {
				cancel(err)
			}
		})
	}
	var warmed int64
	if warm > 0 {
		warmed = l.afterWarmUp(ctx, warm)
	}
	workers.Wait()
	if ctx.Err() != nil {
		return tally{}, context.Cause(ctx)
	}
	// Nobody begins after the end, so the answers are spread a little beyond it.
	return l.sum(time.Since(start)-warm, warmed), nil
}

// afterWarmUp returns how many requests were done when the time counts.
func (l *load) afterWarmUp(ctx context.Context, warm time.Duration) int64 {
	select {
	case <-ctx.Done():
	case <-time.After(warm):
	}
	return l.done()
}

func (l *load) done() (n int64) {
	for i := range l.cells {
		n += l.cells[i].done.Load()
	}
	return n
}

// work is one connection's.
func (l *load) work(ctx context.Context, i int, start, counts time.Time) error {
	c, mine := l.crew[i], &l.cells[i]
	rng := rand.New(rand.NewPCG(uint64(i), uint64(start.UnixNano())))
	due := start.Add(time.Duration(rng.Float64() * float64(l.every)))
	for ctx.Err() == nil {
		if l.budget > 0 && l.taken.Add(1) > l.budget {
			return nil
		}
		sent := time.Now()
		if l.every > 0 {
			if sent.Before(due) {
				time.Sleep(due.Sub(sent))
				sent = time.Now()
			} else {
				sent = due
			}
			due = due.Add(l.every)
		}
		if sent.After(l.until) {
			return nil
		}
		l.visit.begin(c, rng)
		status, body, err := c.do()
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		if status != http.StatusOK && status != http.StatusNoContent {
			mine.refused.Add(1)
			continue
		}
		mine.done.Add(1)
		if bytes.Contains(body, enters) {
			mine.entered.Add(1)
		}
		if l.every > 0 && sent.After(counts) {
			mine.latencies = append(mine.latencies, time.Since(sent))
		}
		if err := l.visit.end(i, body); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) sum(took time.Duration, warmed int64) tally {
	t := tally{took: took}
	for i := range l.cells {
		t.done += l.cells[i].done.Load()
		t.refused += l.cells[i].refused.Load()
		t.entered += l.cells[i].entered.Load()
		t.latencies = append(t.latencies, l.cells[i].latencies...)
	}
	t.sent = t.done + t.refused
	t.done -= warmed
	slices.Sort(t.latencies)
	return t
}
