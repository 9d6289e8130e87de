package local_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func request(subject string, cost int64, rules ...limit.Rule) limit.Request {
	return limit.Request{Policy: "p", Tier: "t", Subject: subject, Rules: rules, Cost: cost}
}

func take(t testing.TB, s *local.Counters, q limit.Request) limit.Verdict {
	t.Helper()
	v, err := s.Allow(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestItGoesByItself: keys are removed in time without another call.
func TestItGoesByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := local.New(local.CountersOptions{})
		defer s.Close()
		long := limit.Rule{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 3600}
		take(t, s, request("slow", 1, long))
		for i := range 10_000 {
			for _, a := range limit.Algorithms {
				take(t, s, request(strconv.Itoa(i), 1, limit.Rule{Algorithm: a, Limit: 3, WindowSeconds: 2}))
			}
		}
		if n := s.Keys(); n != 1+10_000*len(limit.Algorithms) {
			t.Errorf("%d keys", n)
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		if n := s.Keys(); n != 1 {
			t.Errorf("%d keys after all short windows, want 1", n)
		}
		<-time.After(time.Hour + 10*time.Second)
		synctest.Wait()
		if n := s.Keys(); n != 0 {
			t.Errorf("%d keys after all windows", n)
		}
	})
}

// TestMemoryIsBounded: other keys make room, logs count by their memory, and a refusal
// adds nothing.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	s := local.New(local.CountersOptions{Now: func() time.Time { return now }, MaxKeys: 1000})
	defer s.Close()
	minute := limit.Rule{Algorithm: limit.TokenBucket, Limit: 2, WindowSeconds: 60}
	for i := range 5_000 {
		now = now.Add(time.Millisecond)
		if v := take(t, s, request(strconv.Itoa(i), 2, minute)); !v.Allowed {
			t.Fatalf("%d: %+v", i, v)
		}
		// One of two rules has nothing left, so nothing is added for the other one.
		v := take(t, s, request(strconv.Itoa(i), 1, minute, limit.Rule{Algorithm: limit.FixedWindow, Limit: 9, WindowSeconds: 9}))
		if v.Allowed || s.Keys() != min(i+1, 1000) {
			t.Fatalf("%d: %+v, %d keys", i, v, s.Keys())
		}
	}
	// The newest key is remembered.
	if v := take(t, s, request("4999", 1, minute)); v.Allowed {
		t.Error("the newest was forgotten")
	}
	log := limit.Rule{Algorithm: limit.SlidingLog, Limit: 10_000, WindowSeconds: 3600}
	for i := range 100 {
		for range 4 {
			take(t, s, request(fmt.Sprint("log", i), 1000, log))
		}
	}
	// A log of 4,000 permits has room for 4,096, and so counts as 257 keys.
	if n := s.Keys(); n > 1000-256 {
		t.Errorf("%d keys, want no more than there is room for beside the latest log", n)
	}
}

// TestKeysAreApart: policy, tier, subject, part, algorithm and window each make another key.
func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	s := local.New(local.CountersOptions{})
	defer s.Close()
	one := limit.Rule{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 86_400}
	base := request("s", 1, one)
	others := []func(*limit.Request){
		func(*limit.Request) {},
		func(q *limit.Request) { q.Policy = "pt" },
		func(q *limit.Request) { q.Policy, q.Tier = "pt", "" },
		func(q *limit.Request) { q.Tier = "u" },
		func(q *limit.Request) { q.Subject = "r" },
		func(q *limit.Request) {
			q.Rules = []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 1, WindowSeconds: 86_400}}
		},
		func(q *limit.Request) {
			q.Rules = []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 86_399}}
		},
	}
	for i, change := range others {
		q := base
		change(&q)
		if v := take(t, s, q); !v.Allowed {
			t.Errorf("%d: refused for what another took", i)
		}
		if v := take(t, s, q); v.Allowed {
			t.Errorf("%d: allowed twice", i)
		}
	}
}

// BenchmarkAllow measures one decision, for each of 100,000 keys in turn.
func BenchmarkAllow(b *testing.B) {
	for _, a := range limit.Algorithms {
		b.Run(string(a), func(b *testing.B) {
			s := local.New(local.CountersOptions{})
			defer s.Close()
			rule := []limit.Rule{{Algorithm: a, Limit: 100, WindowSeconds: 60}}
			subjects := make([]string, 100_000)
			for i := range subjects {
				subjects[i] = fmt.Sprintf("%022d", i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				q := limit.Request{Policy: "api", Tier: "guest", Subject: subjects[i%len(subjects)], Rules: rule, Cost: 1}
				if _, err := s.Allow(b.Context(), q); err != nil || i == math.MaxInt {
					b.Fatal(err)
				}
			}
		})
	}
}
