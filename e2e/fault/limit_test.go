package fault

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limitOf is a policy with one rule, exact within a minute.
func limitOf(perMinute int, onStoreFailure string) string {
	return fmt.Sprintf(`{"rules":[{"algorithm":"sliding_log","limit":%d,"windowSeconds":60}],"onStoreFailure":%q}`,
		perMinute, onStoreFailure)
}

// asks has the server say whether a client may go on, and returns how long that took.
func (s *server) asks(ctx context.Context, policy, key string) (allowed bool, took time.Duration, err error) {
	body := strings.NewReader(fmt.Sprintf(`{"key":%q}`, key))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.limits+"/limits/"+policy+"/check", body)
	if err != nil {
		return false, 0, err
	}
	began := time.Now()
	status, text, err := s.do(req)
	if err == nil && status != http.StatusOK && status != http.StatusTooManyRequests {
		err = fmt.Errorf("%d %s", status, text)
	}
	return status == http.StatusOK, time.Since(began), err
}

// limitPartitions is in how many parts a store's keys fall.
const limitPartitions = 16

// failing is how many of them fail, in the eyes of the server; -1 if it does not say.
func (s *server) failing(t testing.TB) int {
	t.Helper()
	_, text, err := s.get(t.Context(), s.operators+"/metrics")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(text, "\nqueue_limit_failing_partitions ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		return -1
	}
	return n
}

// waited is how long an answer takes, at least, that waits for a store which hangs.
const waited = 300 * time.Millisecond

// permitted asks the servers by turns, so many times, and counts the permits, and
// the answers that waited for the store.
func permitted(t testing.TB, servers []*server, policy string, times int) (n, slow int) {
	t.Helper()
	for i := range times {
		ok, took, err := servers[i%len(servers)].asks(t.Context(), policy, "ip:203.0.113.9")
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			n++
		}
		if took > waited {
			slow++
		}
	}
	return n, slow
}

// TestLimitsWithoutTheStore: Redis hangs, is killed, and comes back. Each policy
// does what its onStoreFailure says, nobody waits but who asked first, the servers
// together let in no more than they may, and all is as before in the end.
func TestLimitsWithoutTheStore(t *testing.T) {
	t.Parallel()
	const limit, times = 10, 40
	e := startEngine(t)
	o := serverOptions{redisURL: e.url(), more: []string{"--servers", "2"}}
	servers := []*server{startServer(t, o), startServer(t, o)}
	policies := []string{"open", "closed", "local"}
	for _, p := range policies {
		servers[0].limit(t, p, limitOf(limit, p))
	}
	for _, p := range policies {
		await(t, settleTimeout, "the other server knows the policy", func() bool {
			status, _, err := servers[1].get(t.Context(), servers[1].operators+"/admin/limits/"+p+"/stats")
			return err == nil && status == http.StatusOK
		})
		if n, _ := permitted(t, servers, p, 4); n != 4 {
			t.Errorf("%s: %d of 4 allowed", p, n)
		}
	}

	e.hang()
	// Who asks first waits for the store's own time limit.
	if _, slow := permitted(t, servers, "local", len(servers)); slow < 1 {
		t.Error("nobody waited for the store: does it hang?")
	}
	for _, s := range servers {
		await(t, settleTimeout, "all of the store is known to fail", func() bool { return s.failing(t) == limitPartitions })
	}
	during := map[string]int{}
	for _, p := range policies {
		n, slow := permitted(t, servers, p, times)
		during[p] = n
		// None, on a machine that has nothing else to do.
		if slow > times/10 {
			t.Errorf("%s: with a store that hangs, %d of %d answers waited", p, slow, times)
		}
	}
	if during["open"] != times || during["closed"] != 0 {
		t.Errorf("without the store, of %d: %v", times, during)
	}
	// The first two of the outage were of the servers' shares, too.
	if n := 2 + during["local"]; n != limit {
		t.Errorf("local: %d allowed without the store, want two shares of %d", n, limit/2)
	}

	e.Kill()
	permitted(t, servers, "local", 4)
	e.start(t) // empty
	for _, s := range servers {
		await(t, settleTimeout, "the store is believed again", func() bool { return s.failing(t) == 0 })
	}
	await(t, settleTimeout, "the policies are put back", func() bool {
		return e.do(t, "EXISTS", "{:limits}:book") == "1"
	})
	for _, p := range policies {
		if n, _ := permitted(t, servers, p, times); n != limit {
			t.Errorf("%s: when all is well again, %d of %d allowed, want %d", p, n, times, limit)
		}
	}
}
