package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// The two crowds.
const (
	bots, botAddresses      = 1000, 50
	honest, honestAddresses = 500, 400
	schools, pupils         = 3, 30 // the last school has those who are left over
	honestArrive            = 2 * time.Second
	guardBurst, guardLimit  = 60, 60 // a minute
)

// TestBots: a thousand bots join as fast as they can, from 50 addresses, each time as
// somebody else; meanwhile, and when the bots have used up what they may take, 500
// people join from 400 addresses, three of which are schools. Whoever is honest gets a place, and none stands behind more bots than the
// policy lets through.
func TestBots(t *testing.T) {
	env := map[string]string{
		"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8",
		"QUEUE_CONFIG":          config(t, "zones:\n  - {zoneId: SALE, perMinute: 0}\n"),
		"QUEUE_SECRET":          goodSecret,
	}
	t.Run("embedded", func(t *testing.T) {
		raid(t, start(t, env))
	})
	t.Run("redis, two servers", func(t *testing.T) {
		redis, err := baseline.Start(t.Context(), "redis-server")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := redis.Stop(); err != nil {
				t.Error(err)
			}
		})
		env["QUEUE_STORE"], env["QUEUE_REDIS_URL"], env["QUEUE_SERVERS"] = storeRedis, redis.URL(), "2"
		raid(t, start(t, env), start(t, env))
	})
}

// raid has both crowds come to the servers.
func raid(t *testing.T, servers ...*server) {
	t.Helper()
	policy, err := json.Marshal(map[string]any{"rules": []limit.Rule{
		{Algorithm: limit.TokenBucket, Limit: guardLimit, WindowSeconds: 60, Burst: guardBurst},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		// On the second it changes nothing; but then it is in force there, too.
		if got := s.admin(t, http.MethodPut, "/admin/limits/"+guard.JoinsAddress, string(policy)); got.status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
	}
	r := &raided{servers: servers, exhausted: make(chan struct{})}
	r.bots, r.people = newCrowd(16), newCrowd(8)
	done := make(chan struct{})
	began := time.Now()
	var all sync.WaitGroup
	for b := range bots {
		all.Go(func() { r.raid(b, done) })
	}
	var people sync.WaitGroup
	for h := range honest {
		people.Go(func() { r.visit(t.Context(), h) })
	}
	people.Wait()
	close(done)
	all.Wait()
	r.bots.close()
	r.people.close()
	r.judge(t, began)
}

// raided are servers that both crowds come to.
type raided struct {
	servers      []*server
	bots, people *joiners
	// exhausted is closed when each bot was refused once, on average.
	exhausted chan struct{}
	once      sync.Once
}

// joiners are clients, and what became of their joins.
type joiners struct {
	client *http.Client

	mu             sync.Mutex
	asked, refused int
	arrived        []int64 // microseconds
	failures       []error
}

func newCrowd(connections int) *joiners {
	return &joiners{client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}}}
}

func (j *joiners) close() { j.client.CloseIdleConnections() }

// join asks for a place, and returns when to ask again: 0 with a place.
func (j *joiners) join(s *server, from, clientID string) (again time.Duration) {
	again, arrived, err := j.ask(s, from, clientID)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked++
	switch {
	case errors.Is(err, errBusy): // a machine too slow for its Redis
	case err != nil:
		j.failures = append(j.failures, err)
	case again > 0:
		j.refused++
	default:
		j.arrived = append(j.arrived, arrived)
	}
	return again
}

// errBusy: the store did not answer in time.
var errBusy = errors.New("503")

func (j *joiners) refusals() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refused
}

func (j *joiners) ask(s *server, from, clientID string) (again time.Duration, arrived int64, err error) {
	body := fmt.Sprintf(`{"zoneId":"SALE","clientAgent":"WEB","clientId":%q}`, clientID)
	req, err := http.NewRequest(http.MethodPost, s.public+"/traffic/wait", strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("X-Forwarded-For", from)
	res, err := j.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, 0, err
	}
	switch res.StatusCode {
	case http.StatusServiceUnavailable:
		return time.Second, 0, errBusy
	case http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || !strings.Contains(string(text), `"too_many_requests"`) {
			return 0, 0, fmt.Errorf("429 %v %s", res.Header, text)
		}
		return time.Duration(seconds) * time.Second, 0, nil
	case http.StatusOK:
		var a struct {
			Waiting struct {
				ArrivedAtMicros int64 `json:"arrivedAtMicros"`
			} `json:"waiting"`
		}
		err := json.Unmarshal(text, &a)
		return 0, a.Waiting.ArrivedAtMicros, err
	default:
		return 0, 0, fmt.Errorf("%d %s", res.StatusCode, text)
	}
}

// raid is one bot: it does not care what it is told.
func (r *raided) raid(bot int, done <-chan struct{}) {
	from := fmt.Sprintf("198.51.100.%d", 1+bot%botAddresses)
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		default:
			r.bots.join(r.servers[n%len(r.servers)], from, fmt.Sprintf("bot-%d-%d", bot, n))
			if r.bots.refusals() >= bots {
				r.once.Do(func() { close(r.exhausted) })
			}
		}
	}
}

// visit is one of the honest, who comes back when told to. Every other one comes
// early, the others late.
func (r *raided) visit(ctx context.Context, number int) {
	// Schools first; the others have an address each.
	address := number / pupils
	if last := schools - 1; address >= last && number < honest-(honestAddresses-schools) {
		address = last
	} else if address >= last {
		address = number - (honest - honestAddresses)
	}
	from := fmt.Sprintf("203.0.113.%d", address)
	if address > 250 {
		from = fmt.Sprintf("192.0.2.%d", address-250)
	}
	if number%2 == 1 {
		select {
		case <-ctx.Done():
			return
		case <-r.exhausted:
		}
	}
	wait := honestArrive * time.Duration(number*7%honest) / honest
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if wait = r.people.join(r.servers[number%len(r.servers)], from, fmt.Sprintf("person-%d", number)); wait == 0 {
			return
		}
	}
}

// judge holds the places against what the policy allows.
func (r *raided) judge(t *testing.T, began time.Time) {
	t.Helper()
	for _, j := range []*joiners{r.bots, r.people} {
		for _, err := range j.failures[:min(3, len(j.failures))] {
			t.Error(err)
		}
	}
	if len(r.people.arrived) != honest || r.people.refused != 0 {
		t.Errorf("%d of %d people have a place, refused %d times", len(r.people.arrived), honest, r.people.refused)
	}
	slices.Sort(r.bots.arrived)
	slices.Sort(r.people.arrived)
	each := 1
	for _, s := range r.servers {
		// On a machine that is too slow for its Redis, each server enforces its share of
		// the limit by itself meanwhile: all of it once more, at the most.
		if m := request(t, http.MethodGet, s.operators+"/metrics", ""); strings.Contains(m.body, `queue_limit_partition_changes_total{to="failing"}`) &&
			!strings.Contains(m.body, `queue_limit_partition_changes_total{to="failing"} 0`) {
			each = 2
		}
	}
	worst, of := 0, 0
	for _, arrived := range r.people.arrived {
		ahead, _ := slices.BinarySearch(r.bots.arrived, arrived)
		since := time.Duration(arrived-began.UnixMicro()) * time.Microsecond
		if allowed := each * botAddresses * (guardBurst + int(since*guardLimit/time.Minute)); ahead > allowed {
			t.Errorf("after %v %d bots are ahead, the policy allows %d", since, ahead, allowed)
		} else if ahead >= worst {
			worst, of = ahead, allowed
		}
	}
	if len(r.bots.arrived) < botAddresses*guardBurst {
		t.Errorf("the bots have %d places, they may have more", len(r.bots.arrived))
	}
	t.Logf("bots: %d joins in %.1f s, %d refused, %d places; people: %d joins, %d refused, %d places; "+
		"at most %d bots ahead of a person, of %d that the policy allows by then",
		r.bots.asked, time.Since(began).Seconds(), r.bots.refused, len(r.bots.arrived),
		r.people.asked, r.people.refused, len(r.people.arrived), worst, of)
}
