package background

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"
)

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
