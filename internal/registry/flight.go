package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// sharedTimeout bounds a shared call, whose context must outlive that of the
// caller who happened to begin it. It is above the stores' own time limits and
// below what a visitor's client waits for.
const sharedTimeout = 3 * time.Second

// errUnfinished is what those who shared a call see when it panicked.
var errUnfinished = errors.New("registry: the shared call did not finish")

// flight lets callers who want the same thing at the same time share one call.
// The zero value is ready.
type flight struct {
	mu      sync.Mutex
	current *sharedCall
}

type sharedCall struct {
	done chan struct{}
	err  error // set before done is closed
}

// do runs fn in the caller's goroutine, or waits for the run of fn that is
// under way and returns its error. fn's context has the caller's values, not
// its cancellation. A caller whose ctx ends while it waits gets an error that
// wraps line.ErrStoreUnavailable.
func (f *flight) do(ctx context.Context, fn func(context.Context) error) error {
	f.mu.Lock()
	if c := f.current; c != nil {
		f.mu.Unlock()
		select {
		case <-c.done:
			return c.err
		case <-ctx.Done():
			return fmt.Errorf("registry: %w: %w", line.ErrStoreUnavailable, context.Cause(ctx))
		}
	}
	c := &sharedCall{done: make(chan struct{}), err: errUnfinished}
	f.current = c
	f.mu.Unlock()

	defer func() {
		f.mu.Lock()
		f.current = nil
		f.mu.Unlock()
		close(c.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
	defer cancel()
	c.err = fn(ctx)
	return c.err
}

// busy reports whether a run of do is under way.
func (f *flight) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current != nil
}
