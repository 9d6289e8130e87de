package fault

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// The two crowds. botLimit is what an address may take in a minute, and at once.
const (
	botAddresses, botLimit = 50, 60
	people                 = 500
	schools, pupils        = 3, 35
)

// joined are when places were taken, in microseconds, and how many joins were refused.
type joined struct {
	client *http.Client

	mu      sync.Mutex
	at      []int64
	refused int
}

// join asks for a place from an address, as somebody new, and reports whether there is one. Where the store is slow,
// it asks again.
func (j *joined) join(ctx context.Context, s *room.Server, from, who string) (bool, error) {
	r, told, err := room.Join(ctx, j.client, s.Public, "SALE", map[string]string{"clientId": who}, "X-Forwarded-For", from)
	if err == nil && r.Status == http.StatusServiceUnavailable && pause(ctx, afterBreak) {
		return j.join(ctx, s, from, who)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err != nil:
		return false, err
	case r.Status == http.StatusTooManyRequests:
		j.refused++
		return false, nil
	case told.Token == "":
		return false, fmt.Errorf("%d %s", r.Status, r.Body)
	}
	j.at = append(j.at, told.Waiting.ArrivedAtMicros)
	return true, nil
}

// TestBots: bots join as fast as they can, from 50 addresses, each time as somebody else; meanwhile 500 people join,
// of whom a hundred are of three schools with an address each. Whoever is honest gets a place at once, and none stands behind more bots
// than the policy lets through.
func TestBots(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	for name, env := range map[string]map[string]string{
		"embedded": {}, "redis, two servers": {"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": e.URL(), "QUEUE_SERVERS": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env["QUEUE_TRUSTED_PROXIES"] = "127.0.0.0/8"
			servers := []*room.Server{room.Start(t, env)}
			if env["QUEUE_STORE"] == "redis" {
				servers = append(servers, room.Start(t, env))
			}
			z := busy("SALE")
			z.PerMinute = 0
			servers[0].Put(t, z, servers[1:]...)
			for _, s := range servers {
				s.Operate(t, http.MethodPut, "/admin/limits/joins-address",
					fmt.Sprintf(`{"rules":[{"algorithm":"token_bucket","limit":%[1]d,"windowSeconds":60,"burst":%[1]d}]}`, botLimit))
			}
			raid(t, servers)
		})
	}
}

// raid has both crowds come to the servers, and judges what they got.
func raid(t *testing.T, servers []*room.Server) {
	t.Helper()
	crowd := func(connections int) *joined {
		j := &joined{client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}}}
		t.Cleanup(j.client.CloseIdleConnections)
		return j
	}
	bots, honest := crowd(16), crowd(8)
	ctx, over := context.WithCancel(t.Context())
	var raiding, coming sync.WaitGroup
	began := time.Now()
	for b := range botAddresses {
		raiding.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := bots.join(ctx, servers[n%len(servers)], fmt.Sprintf("198.51.100.%d", b), fmt.Sprintf("bot-%d-%d", b, n)); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	room.Await(t, "the bots are refused", func() bool {
		bots.mu.Lock()
		defer bots.mu.Unlock()
		return bots.refused > 10*botAddresses
	})
	for p := range people {
		from := fmt.Sprintf("203.0.%d.%d", 113+p/250, p%250)
		if p < schools*pupils {
			from = fmt.Sprintf("192.0.2.%d", p%schools)
		}
		coming.Go(func() {
			if in, err := honest.join(ctx, servers[p%len(servers)], from, fmt.Sprint("person-", p)); err != nil || !in {
				t.Errorf("person %d of %s has no place: %v", p, from, err)
			}
		})
	}
	coming.Wait()
	over()
	raiding.Wait()

	// On a machine that is too slow for its Redis, each server enforces its share of the limit by itself meanwhile: all
	// of it once more, at the most.
	each := 1
	for _, s := range servers {
		figures := room.Request(t, http.MethodGet, s.Operators+"/metrics", "").Body
		if failing := `queue_limit_partition_changes_total{to="failing"}`; strings.Contains(figures, failing) && !strings.Contains(figures, failing+" 0") {
			each = 2
		}
	}
	slices.Sort(bots.at)
	most := 0
	for _, at := range honest.at {
		ahead, _ := slices.BinarySearch(bots.at, at)
		since := time.Duration(at-began.UnixMicro()) * time.Microsecond
		if allowed := each * botAddresses * (botLimit + int(since*botLimit/time.Minute)); ahead > allowed {
			t.Errorf("after %v %d bots are ahead, the policy allows %d", since, ahead, allowed)
		}
		most = max(most, ahead)
	}
	t.Logf("bots: %d places, %d refused; people: %d places, %d refused; at most %d bots ahead of a person", len(bots.at), bots.refused,
		len(honest.at), honest.refused, most)
}
