package zones

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlines: nobody waits for longer than the limit, or for less than the
// limit but what is shared; and who has gone away is known.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deadlines{within: 400 * time.Millisecond}
		for range 100 {
			ctx, began := d.bound(t.Context()), time.Now()
			ends, ok := ctx.Deadline()
			if left := ends.Sub(began); !ok || left > d.within || left <= d.within-together {
				t.Fatalf("%v are left, %v", left, ok)
			}
			go func() {
				<-ctx.Done()
				if waited := time.Since(began); waited != ends.Sub(began) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("done after %v of %v: %v", waited, ends.Sub(began), ctx.Err())
				}
			}()
			<-time.After(7 * time.Millisecond)
		}
		synctest.Wait()
		<-time.After(d.within)

		caller, leave := context.WithCancel(t.Context())
		ctx := d.bound(caller)
		if err := ctx.Err(); err != nil {
			t.Errorf("%v, want nil", err)
		}
		leave()
		if err := ctx.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want canceled", err)
		}
		sooner, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		ctx = d.bound(sooner)
		if ends, _ := ctx.Deadline(); time.Until(ends) != time.Millisecond {
			t.Errorf("%v are left, want the caller's", time.Until(ends))
		}
		began := time.Now()
		<-ctx.Done()
		if waited := time.Since(began); waited != time.Millisecond {
			t.Errorf("done after %v, want the caller's", waited)
		}
		for late, want := range map[time.Duration]time.Duration{
			0: 400 * time.Millisecond, 20 * time.Millisecond: 600 * time.Millisecond, time.Second: time.Second, // busy machines
		} {
			d := deadlines{within: 400 * time.Millisecond}
			d.late.Store(int64(late))
			if at, _ := d.bound(caller).Deadline(); time.Until(at) != want {
				t.Errorf("with timers that are %v late a call may take %v, want %v", late, time.Until(at), want)
			}
		}
		if ctx := (&deadlines{}).bound(caller); ctx != caller {
			t.Error("no limit is another context")
		}
		<-time.After(d.within)
	})
}
