package lua

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/check/conformance/limits"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// openLimits opens a store whose keys stay as long as its test, whatever the clock.
func openLimits(t conformance.TB, now func() time.Time) *Store {
	t.Helper()
	s := openStore(t, now)
	s.linger = time.Hour
	return s
}

func openForLimits(t conformance.TB, now func() time.Time) limits.Store {
	t.Helper()
	return openLimits(t, now)
}

func TestLimitsModel(t *testing.T) {
	t.Parallel()
	limits.Property(t, openForLimits)
}

func question(subject string, cost int64, rules ...limit.Rule) limit.Request {
	return limit.Request{Policy: "p", Tier: "t", Subject: subject, Rules: rules, Cost: cost}
}

func (s *Store) decides(t testing.TB, q limit.Request, allowed bool) limit.Verdict {
	t.Helper()
	v, err := s.Allow(t.Context(), q)
	if err != nil || v.Allowed != allowed {
		t.Fatalf("allow %d: %+v, %v, want allowed %t", q.Cost, v, err, allowed)
	}
	return v
}

// snapshotWithTTL is all keys, and when each goes.
func (s *Store) snapshotWithTTL(t *testing.T) map[string]string {
	t.Helper()
	all := s.snapshot(t)
	for key := range all {
		all[key] += s.client.PExpireTime(t.Context(), key).String()
	}
	return all
}

// TestRefusedRequestsWriteNothing: of one rule or of several, of which one or all
// refuse, a little before the clock too; but the repair of a clock that was set.
func TestRefusedRequestsWriteNothing(t *testing.T) {
	t.Parallel()
	for _, a := range limit.Algorithms {
		t.Run(string(a), func(t *testing.T) {
			t.Parallel()
			clock := conformance.NewClock()
			s := openLimits(t, clock.Now)
			one := limit.Rule{Algorithm: a, Limit: 1, WindowSeconds: 10}
			many := limit.Rule{Algorithm: limit.FixedWindow, Limit: 100, WindowSeconds: 60}
			s.decides(t, question("s", 1, one), true)
			before := s.snapshotWithTTL(t)
			same := func(what string) {
				t.Helper()
				if keys := changed(before, s.snapshotWithTTL(t)); len(keys) > 0 {
					t.Errorf("%s changed %v", what, keys)
				}
			}
			s.decides(t, question("s", 1, one), false)
			same("a refusal")
			s.decides(t, question("s", 1, many, one), false)
			same("a refusal by one of two rules")
			clock.Add(-4 * time.Second)
			s.decides(t, question("s", 1, one), false)
			same("a refusal on a clock that is behind")
			clock.Add(-time.Minute)
			retry := s.decides(t, question("s", 1, many, one), false).RetryMillis
			if keys := changed(before, s.snapshotWithTTL(t)); len(keys) != 1 {
				t.Errorf("a refusal on a clock that was set changed %v, want the one key", keys)
			}
			clock.Add(time.Duration(retry) * time.Millisecond)
			s.decides(t, question("s", 1, many, one), true)
		})
	}
}

// TestLimitsGoByThemselves: on Redis's clock, and their keys with them.
func TestLimitsGoByThemselves(t *testing.T) {
	t.Parallel()
	s := openStore(t, nil)
	for _, a := range limit.Algorithms {
		s.decides(t, question("s", 2, limit.Rule{Algorithm: a, Limit: 2, WindowSeconds: 1, Burst: burstOf(a, 2)}), true)
	}
	if n := len(s.allKeys(t, "")); n != len(limit.Algorithms) {
		t.Fatalf("%d keys", n)
	}
	if !process.Soon(t.Context(), patient, process.LookEvery, func() bool { return len(s.allKeys(t, "")) == 0 }) {
		t.Fatalf("%v are left", s.allKeys(t, ""))
	}
}

// burstOf is the burst with which so many can be taken at once.
func burstOf(a limit.Algorithm, permits int64) int64 {
	if a == limit.LeakyBucket {
		return permits - 1
	}
	return 0
}

// TestSlots: as Redis says.
func TestSlots(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"123456789": 12739, "foo": 12182, "x{foo}bar": 12182, "{}foo": 9500, "{:p:t:s}:l60": 0,
	} {
		if want == 0 {
			want = slotOf(":p:t:s")
		}
		if got := slotOf(key); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

// TestNodeWithoutTheScript: nobody notices, however many ask at once.
func TestNodeWithoutTheScript(t *testing.T) {
	t.Parallel()
	url := ownServer(t)
	s := openStoreAt(t, url, nil)
	rule := limit.Rule{Algorithm: limit.SlidingLog, Limit: 500, WindowSeconds: 3600}
	for range 3 {
		must(t, s.client.ScriptFlush(t.Context()).Err())
		if n := crowd(t, 300, func(int) (limit.Verdict, error) { return s.Allow(t.Context(), question("s", 1, rule)) }); n > 300 {
			t.Errorf("%d allowed", n)
		}
	}
	if v := s.decides(t, question("s", 1, rule), false); v.Quotas[0].Remaining != 0 {
		t.Errorf("%+v", v)
	}
}

// crowd asks so many times at once, and returns how often it was allowed.
func crowd(t *testing.T, n int, ask func(i int) (limit.Verdict, error)) (allowed int64) {
	t.Helper()
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range n {
		all.Go(func() {
			v, err := ask(i)
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
			if v.Allowed {
				count.Add(1)
			}
		})
	}
	all.Wait()
	return count.Load()
}

// hanging is a client's hook: pipelines with a key in the partition get no answer.
type hanging struct {
	partition int
	twice     *atomic.Bool // a command that may be sent a second time
	over      <-chan struct{}
}

func (hanging) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (hanging) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h hanging) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, c := range cmds {
			if !strings.HasPrefix(c.Name(), "eval") {
				break // The client greets a new connection.
			}
			if !c.NoRetry() {
				h.twice.Store(true)
			}
			if key, ok := c.Args()[3].(string); ok && partitionOf(key) == h.partition {
				select {
				case <-ctx.Done():
				case <-h.over:
				}
				for _, c := range cmds {
					c.SetErr(context.DeadlineExceeded)
				}
				return context.DeadlineExceeded
			}
		}
		return next(ctx, cmds)
	}
}

// TestLaneThatHangs: whoever asks there is told so in time, and however many; the
// other partitions go on, and no command may be sent twice.
func TestLaneThatHangs(t *testing.T) {
	t.Parallel()
	s := openStore(t, nil)
	s.timeouts.call = 2 * time.Second // the others are answered in this time on a slow machine, too
	rule := limit.Rule{Algorithm: limit.FixedWindow, Limit: 1_000_000, WindowSeconds: 3600}
	at := func(i int) limit.Request { return question(strconv.Itoa(i), 1, rule) }
	var twice atomic.Bool
	hung := s.Partition(at(0))
	over := make(chan struct{})
	defer close(over)
	s.client.AddHook(hanging{hung, &twice, over})

	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	var wrong atomic.Int64
	for range maxUndecided + 1000 {
		flood.Go(func() {
			_, err := s.Allow(ctx, at(0))
			if ctx.Err() == nil && !errors.Is(err, limit.ErrStoreUnavailable) { // else the test is over
				wrong.Add(1)
			}
		})
	}
	others := 0
	for i := 1; others < 200; i++ {
		if q := at(i); s.Partition(q) != hung {
			others++
			if _, err := s.Allow(t.Context(), q); err != nil {
				t.Fatalf("another partition, beside one that hangs: %v", err)
			}
		}
	}
	flood.Wait()
	cancel()
	if wrong.Load() > 0 || twice.Load() {
		t.Errorf("%d without the error, may be sent twice: %t", wrong.Load(), twice.Load())
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Allow(ctx, at(0)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, limit.ErrStoreUnavailable) {
		t.Errorf("a caller who has less time: %v", err)
	}
}
