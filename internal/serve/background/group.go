package background

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
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
