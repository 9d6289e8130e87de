// Package background is what runs beside the requests: loops that begin with a part of the
// server and end with it (Group), and calls that many requests share (Shared).
package background

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// Group owns goroutines: it begins them, and waits for their end. The zero value is ready.
type Group struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Start runs each function in a goroutine until Stop. Their context has the values of ctx,
// and ends at Stop, not with ctx. Start must be called at most once.
func (g *Group) Start(ctx context.Context, runs ...func(context.Context)) {
	ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, run := range runs {
		g.running.Go(func() { run(ctx) })
	}
}

// Go runs a function in a goroutine, for which Stop waits.
func (g *Group) Go(run func()) { g.running.Go(run) }

// GoAlone does as Go, but nothing while busy is set, as it is until the function returns.
func (g *Group) GoAlone(busy *atomic.Bool, run func()) {
	if busy.Swap(true) {
		return
	}
	g.running.Go(func() {
		defer busy.Store(false)
		run()
	})
}

// Stop ends the context of what Start began, and waits for all goroutines. It may be called
// more than once, and for a Group that was not started.
func (g *Group) Stop() {
	if g.cancel != nil {
		g.cancel()
	}
	g.running.Wait()
}

// Every returns a function for Start, which calls do once a period until its context ends.
func Every(period time.Duration, do func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do(ctx)
			}
		}
	}
}

// Shared lets callers who want the same thing at the same time share one call. The zero
// value is ready.
type Shared struct{ flights singleflight.Group }

// Do runs a call in a goroutine of owner, or waits for the call of that key that is under
// way, and returns its error. The call goes on when the caller who began it gives up: the
// call's context has that caller's values, and ends after the timeout. A caller whose own ctx
// ends first gets the cause of that. If the call panics, all who wait get an error.
func (s *Shared) Do(ctx context.Context, owner *Group, key string, timeout time.Duration, call func(context.Context) error) error {
	result := make(chan error, 1)
	owner.Go(func() {
		_, err, _ := s.flights.Do(key, func() (_ any, err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic in a shared call: %v\n%s", r, debug.Stack())
				}
			}()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
			defer cancel()
			return nil, call(ctx)
		})
		result <- err
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
