package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is what many connections ask one server at once.
type load struct {
	question

	addr  string
	conns int
	// The load takes span after warm, which does not count; or, with a budget, as long as so many requests take.
	warm, span time.Duration
	budget     int64
	// every is the time between two requests of one connection, whether answers come or not; 0: each sends as soon as it
	// is answered. A connection that has no answer yet when its next request is due sends it late.
	every time.Duration
}

// tally is what a load did.
type tally struct {
	// done is how many were answered with 200 or 204 in the time that counts, and took is that time.
	done int64
	took time.Duration
	// refused is how many answers had another status or did not come within patience, unanswered how many of them did not
	// come, of all that were sent.
	refused, unanswered, sent int64
}

const (
	// patience is how long after the end of a load the last answer may come.
	patience = 10 * time.Second
	// longestLoad is above what any budget takes.
	longestLoad = time.Hour
)

// run opens the connections, has them ask, and closes them.
func (l load) run(ctx context.Context) (sum tally, err error) {
	all := make([]*client, l.conns)
	for i := range all {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.addr)
		if err != nil {
			return tally{}, err
		}
		defer func() { _ = conn.Close() }() // nothing more is asked
		all[i] = &client{conn: conn, read: bufio.NewReader(conn), request: bytes.Clone(l.request)}
	}
	if l.budget > 0 {
		l.warm, l.span = 0, longestLoad
	}
	start := time.Now()
	counts, until := start.Add(l.warm), start.Add(l.warm+l.span)
	deadline := func(t time.Time) {
		for _, c := range all {
			_ = c.conn.SetDeadline(t) // what then fails, fails as it is used
		}
	}
	deadline(until.Add(patience))
	workers, working := errgroup.WithContext(ctx)
	// A connection that waits for its answer does not see that its context has ended.
	defer context.AfterFunc(working, func() { deadline(time.Now()) })()
	var taken atomic.Int64
	tallies := make([]tally, len(all))
	for i, c := range all {
		workers.Go(func() error {
			due := start.Add(time.Duration(rand.Float64() * float64(l.every)))
			// A connection whose question is not answered within patience asks no more.
			for working.Err() == nil && tallies[i].unanswered == 0 && (l.budget == 0 || taken.Add(1) <= l.budget) {
				at := time.Now()
				if l.every > 0 {
					time.Sleep(due.Sub(at))
					at, due = due, due.Add(l.every)
				}
				if at.After(until) {
					return nil
				}
				if err := l.ask(c, counts, &tallies[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = workers.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	// Nobody begins after the end, so the answers are spread a little beyond it.
	sum.took = time.Since(counts)
	for _, t := range tallies {
		sum.done, sum.refused, sum.unanswered, sum.sent = sum.done+t.done, sum.refused+t.refused, sum.unanswered+t.unanswered, sum.sent+t.sent
	}
	return sum, err
}

// ask sends one request, and counts its answer if it comes after counts.
func (l load) ask(c *client, counts time.Time, t *tally) error {
	if l.next != nil {
		l.next(c.request[l.at:])
	}
	status, body, err := c.do()
	if l.every > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // asked at its time, and not answered at all: a refusal
		t.unanswered++
	}
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	t.sent++
	if status != http.StatusOK && status != http.StatusNoContent {
		t.refused++
		return nil
	}
	if time.Now().After(counts) {
		t.done++
	}
	if l.seen != nil {
		return l.seen(body)
	}
	return nil
}
