package lua

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// TestSlidingLogIsExact: 64 clients on two servers ask all the time, on Redis's own
// clock. In no millisecond have more than the limit been allowed in the window that
// ends there; and from the first full one on, it is the limit.
func TestSlidingLogIsExact(t *testing.T) {
	t.Parallel()
	const clients, lasts = 64, 4 * time.Second
	rule := limit.Rule{Algorithm: limit.SlidingLog, Limit: 50, WindowSeconds: 1}
	one, two := openStore(t, nil), openStore(t, nil)
	two.prefix = one.prefix
	q := question("hot", 1, rule)

	over := time.Now().Add(lasts)
	var all sync.WaitGroup
	var asked, allowed atomic.Int64
	for i := range clients {
		store := []*Store{one, two}[i%2]
		all.Go(func() {
			for time.Now().Before(over) {
				v, err := store.Allow(t.Context(), q)
				if err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
				if v.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	// The log is read often enough to see each permit before it goes.
	permits := make(map[string]int64)
	read := func() { readLog(t, one, one.limitKey(q)+"l1", permits) }
	for tick := time.Tick(200 * time.Millisecond); time.Now().Before(over); {
		<-tick
		read()
	}
	all.Wait()
	read()
	if int64(len(permits)) != allowed.Load() {
		t.Fatalf("%d permits in the log, %d allowed: was it read too seldom?", len(permits), allowed.Load())
	}
	var times []int64
	for _, at := range permits {
		times = append(times, at)
	}
	slices.Sort(times)
	most, full, windows := inWindows(times, rule.Window().Milliseconds())
	t.Logf("%d asked, %d allowed; of %d windows, one a millisecond, %d were full; at most %d of %d",
		asked.Load(), allowed.Load(), windows, full, most, rule.Limit)
	if most != int(rule.Limit) || 10*full < 9*windows {
		t.Errorf("the most in a window is %d, want %d; %d of %d windows were full", most, rule.Limit, full, windows)
	}
}

// readLog adds what is in the log: each member, and when it was.
func readLog(t *testing.T, s *Store, key string, permits map[string]int64) {
	t.Helper()
	members, err := s.client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		permits[name(t, m)] = int64(m.Score)
	}
}

// name of a member: the numbers begin anew when the log was empty.
func name(t *testing.T, m redis.Z) string {
	t.Helper()
	text, ok := m.Member.(string)
	if !ok || len(text) != 6 {
		t.Fatalf("member %v", m.Member)
	}
	return text + string(binary.BigEndian.AppendUint64(nil, uint64(m.Score)))
}

// inWindows counts, for each millisecond from the first full window on, what is in
// the window that ends there: the most, how often it is the most, of how many.
func inWindows(times []int64, window int64) (most, full, windows int) {
	first, next := 0, 0
	count := make(map[int]int)
	for end := times[0]; end <= times[len(times)-1]; end++ {
		for next < len(times) && times[next] <= end {
			next++
		}
		for times[first] <= end-window {
			first++
		}
		most = max(most, next-first)
		count[next-first]++
		windows++
	}
	return most, count[most], windows
}
