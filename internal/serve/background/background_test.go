package background_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/serve/background"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGroupRunsUntilStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g background.Group
		var ticks, ended atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		g.Start(ctx,
			background.Every(time.Second, func(context.Context) { ticks.Add(1) }),
			func(ctx context.Context) {
				<-ctx.Done()
				g.Go(func() { ended.Add(1) })
			})
		cancel() // ends nothing: only Stop does
		<-time.After(3500 * time.Millisecond)
		if n := ticks.Load(); n != 3 || ended.Load() != 0 {
			t.Errorf("%d ticks in 3.5 s, %d ended", n, ended.Load())
		}
		g.Stop()
		if ended.Load() != 1 {
			t.Error("Stop did not wait for what was begun last")
		}
		<-time.After(time.Minute)
		if n := ticks.Load(); n != 3 {
			t.Errorf("%d ticks after Stop", n)
		}
		g.Stop()
	})
}

func TestGoAloneDoesNothingWhileBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g background.Group
		var busy atomic.Bool
		runs, release := 0, make(chan struct{})
		run := func() { runs++; <-release }
		g.GoAlone(&busy, run)
		g.GoAlone(&busy, run)
		synctest.Wait()
		if runs != 1 || !busy.Load() {
			t.Errorf("%d runs, busy %t", runs, busy.Load())
		}
		close(release)
		synctest.Wait()
		g.GoAlone(&busy, run)
		g.Stop()
		if runs != 2 || busy.Load() {
			t.Errorf("%d runs in the end, busy %t", runs, busy.Load())
		}
	})
}

func TestStopOfAGroupThatWasNotStarted(t *testing.T) {
	t.Parallel()
	var g background.Group
	g.Stop()
}

func TestCallersShareOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s background.Shared
		var owner background.Group
		failed := errors.New("failed")
		release := make(chan struct{})
		calls := 0
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				errs <- s.Do(t.Context(), &owner, "k", time.Minute, func(context.Context) error {
					calls++
					<-release
					return failed
				})
			}()
		}
		synctest.Wait()
		if err := s.Do(t.Context(), &owner, "other", time.Minute, func(context.Context) error { return nil }); err != nil {
			t.Errorf("another key waits: %v", err)
		}
		close(release)
		for range 3 {
			if err := <-errs; !errors.Is(err, failed) {
				t.Errorf("got %v", err)
			}
		}
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
		if err := s.Do(t.Context(), &owner, "k", time.Minute, func(context.Context) error { return nil }); err != nil {
			t.Errorf("the next call: %v", err)
		}
		owner.Stop()
	})
}

func TestWhoGivesUpLeavesTheSharedCallToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s background.Shared
		var owner background.Group
		release := make(chan struct{})
		hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		first := make(chan error, 1)
		go func() {
			first <- s.Do(hurried, &owner, "k", time.Minute, func(ctx context.Context) error {
				<-release
				return ctx.Err()
			})
		}()
		synctest.Wait()
		second := make(chan error, 1)
		go func() {
			second <- s.Do(t.Context(), &owner, "k", time.Minute, func(context.Context) error { return errors.New("ran twice") })
		}()
		if err := <-first; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up got %v", err)
		}
		close(release)
		if err := <-second; err != nil {
			t.Errorf("who waited got %v", err)
		}
		owner.Stop()
	})
}

func TestSharedCallEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s background.Shared
		var owner background.Group
		err := s.Do(t.Context(), &owner, "k", time.Second, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || t.Context().Err() != nil {
			t.Errorf("got %v", err)
		}
		owner.Stop()
	})
}

func TestPanicInASharedCallIsAnErrorForAll(t *testing.T) {
	t.Parallel()
	var s background.Shared
	var owner background.Group
	if err := s.Do(t.Context(), &owner, "k", time.Minute, func(context.Context) error { panic("boom") }); err == nil {
		t.Error("no error")
	}
	if err := s.Do(t.Context(), &owner, "k", time.Minute, func(context.Context) error { return nil }); err != nil {
		t.Errorf("the call after a panic: %v", err)
	}
	owner.Stop()
}
