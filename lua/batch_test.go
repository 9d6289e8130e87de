package lua

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestTheNewestGoFirst: of those who wait for a call, those whose turn it is go first, then the newest; and of too many the
// oldest is refused.
func TestTheNewestGoFirst(t *testing.T) {
	t.Parallel()
	s, err := openOn(redis.NewClient(&redis.Options{MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.timeouts.batch = time.Hour
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sent []string
		hold := make(chan struct{})
		b := &batch[*request]{
			store: s, most: 2, maxPending: 100, full: line.ErrStoreUnavailable,
			seconds: s.metrics.seconds.WithLabelValues(pollScript.name),
			send: func(_ context.Context, all []*request) error {
				call := ""
				for _, q := range all {
					call += fmt.Sprint(q.place.ArrivedAtMicros, " ")
				}
				mu.Lock()
				sent = append(sent, call)
				mu.Unlock()
				<-hold
				return nil
			},
		}
		var callers sync.WaitGroup
		const first, last = 4, 4 + laterCalls*2
		ended := make([]error, last+2)
		ask := func(n int, later bool) {
			callers.Go(func() {
				q := &request{place: line.Place{ArrivedAtMicros: int64(n)}}
				q.later = later
				ended[n] = b.do(t.Context(), q)
			})
			synctest.Wait()
		}
		ask(1, true) // under way
		ask(2, true)
		ask(3, true) // so is this with the one before
		for n := first; n <= last; n++ {
			ask(n, true) // one more than may wait
		}
		if !errors.Is(ended[first], line.ErrStoreUnavailable) {
			t.Errorf("the oldest: %v, want it refused", ended[first])
		}
		ask(last+1, false)
		close(hold)
		callers.Wait()
		s.work.Wait()
		want := []string{"1 ", "3 2 ", fmt.Sprint(last+1, " ", last, " ")}
		for n := last - 1; n > first; n -= 2 {
			want = append(want, fmt.Sprint(n, " ", max(n-1, first+1), " "))
		}
		want[len(want)-1] = fmt.Sprint(first+1, " ") // the last call has one
		slices.Sort(want)
		slices.Sort(sent)
		if !slices.Equal(sent, want) {
			t.Errorf("calls of %q, want %q", sent, want)
		}
		if err := errors.Join(ended[first+1:]...); err != nil {
			t.Error(err)
		}
	})
}
