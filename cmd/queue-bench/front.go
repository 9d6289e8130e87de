package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// frontSize is how many keep the edge where it is: far more than are let in
	// during a run, at one in ten seconds.
	frontSize = 200
	// frontEvery is how often each of them polls: before it would be late.
	frontEvery = 2 * time.Second
)

// front are those at the front of each line. They poll in time, as visitors do,
// while the others are measured: where nobody at the front is there, the edge
// runs through the line to find somebody, and everybody is told to come back at
// once.
type front struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	err     error
	mu      sync.Mutex
}

// keepFront has the front of the present crowds poll until stop.
func (b *bench) keepFront(ctx context.Context) error {
	f := &front{}
	ctx, f.cancel = context.WithCancel(ctx)
	b.front = f
	for _, c := range b.rooms {
		if c.name == bareEcho {
			continue
		}
		first, err := c.crowd.first(b, frontSize)
		if err != nil {
			return errors.Join(err, f.stop())
		}
		f.running.Go(func() {
			v := inTurn{newPolls(benchZone, &first), new(atomic.Int64)}
			_, err := c.pace(ctx, v, float64(first.len())/frontEvery.Seconds(), 0, time.Hour)
			if err != nil && ctx.Err() == nil {
				f.mu.Lock()
				f.err = errors.Join(f.err, err)
				f.mu.Unlock()
			}
		})
	}
	return nil
}

// stop ends it, and returns what went wrong.
func (f *front) stop() error {
	if f == nil {
		return nil
	}
	f.cancel()
	f.running.Wait()
	return f.err
}

// first are the n who arrived first.
func (c *crowd) first(b *bench, n int) (crowd, error) {
	places, err := c.places(b.keys)
	if err != nil {
		return crowd{}, err
	}
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Compare(places[i].ArrivedAtMicros, places[j].ArrivedAtMicros)
	})
	var out crowd
	for _, i := range order[:min(n, len(order))] {
		out.tokens = append(out.tokens, c.token(i)...)
	}
	return out, nil
}

// inTurn asks for one after the other, again and again.
type inTurn struct {
	polls
	next *atomic.Int64
}

func (v inTurn) begin(c *client, _ *rand.Rand) {
	i := int(v.next.Add(1)-1) % v.crowd.len()
	copy(c.request[v.at:v.at+tokenSize], v.crowd.token(i))
}
