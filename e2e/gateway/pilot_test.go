package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// worker is a site that answers atOnce requests at a time, each in takes: some 200 a second, and as many visitors inside who ask once a second.
// It fails a request that would wait for longer than patience.
type worker struct {
	slots chan struct{}
	began time.Time
	mu    sync.Mutex
	// took are the times of answers by the second in which they ended; 0 for one that failed.
	took map[int][]time.Duration
}

const (
	atOnce   = 4
	takes    = 20 * time.Millisecond
	patience = 3 * time.Second
	bound    = 250 * time.Millisecond
)

func (w *worker) ServeHTTP(res http.ResponseWriter, r *http.Request) {
	from, late := time.Now(), time.NewTimer(patience)
	defer late.Stop()
	took := time.Duration(0)
	select {
	case w.slots <- struct{}{}:
		<-time.After(takes)
		<-w.slots
		took = time.Since(from)
	case <-r.Context().Done():
		return
	case <-late.C:
		res.WriteHeader(http.StatusServiceUnavailable)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	second := int(time.Since(w.began).Seconds())
	w.took[second] = append(w.took[second], took)
}

// judge returns in what part of the seconds between two times 95 % of the answers took no longer than the bound, and which part of the site's
// best succeeded.
func (w *worker) judge(from, upto time.Duration) (within, used float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seconds, fine, good := 0, 0, 0
	for s := int(from.Seconds()); s < int(upto.Seconds()); s++ {
		slow := 0
		for _, took := range w.took[s] {
			if took > 0 {
				good++
			}
			if took == 0 || took > bound {
				slow++
			}
		}
		if seconds++; slow*20 <= len(w.took[s]) {
			fine++
		}
	}
	best := float64(seconds) * atOnce / takes.Seconds()
	return float64(fine) / float64(seconds), float64(good) / best
}

// guest waits, is inside for so long, asks for a page once a second, and goes.
func guest(ctx context.Context, client *http.Client, server *room.Server, front string, stays time.Duration) error {
	_, told, err := room.Join(ctx, client, server.Public, "SHOP", map[string]string{})
	for err == nil && told.Admission.Pass == "" {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(max(told.Waiting.PollingPeriod, 500)) * time.Millisecond):
		}
		var r room.Reply
		if r, err = room.Ask(ctx, client, http.MethodPost, server.Public+"/traffic/entry", fmt.Sprintf(`{"zoneId":"SHOP","token":%q}`, told.Token)); err == nil && r.Status == http.StatusOK {
			err = json.Unmarshal([]byte(r.Body), &told)
		}
	}
	if err != nil {
		return err
	}
	header, held := "X-Waiting-Room-Pass", told.Admission.Pass
	for ends := time.Now().Add(stays); ; {
		path := "/"
		if time.Now().After(ends) {
			path = "/thanks"
		}
		r, err := room.Ask(ctx, client, http.MethodGet, "http://"+front+path, "", header, held)
		if session := r.Header.Get("X-Waiting-Room-Session"); session != "" {
			header, held = "X-Waiting-Room-Session", session
		}
		if err != nil || path != "/" {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(800*time.Millisecond + rand.N(400*time.Millisecond)):
		}
	}
}

// crowd is how many visitors come, and for how long they stay, at least and at most. With VISITORS=3000 they stay for half a minute to two.
func crowd(t *testing.T) (visitors int, least, most time.Duration) {
	t.Helper()
	said := os.Getenv("VISITORS")
	if said == "" {
		return 700, 10 * time.Second, 30 * time.Second // always a line
	}
	visitors, err := strconv.Atoi(said)
	must(t, err)
	return visitors, 30 * time.Second, 2 * time.Minute
}

// TestPilot: a cap that is twice too high overwhelms a site. The autopilot of two servers finds a cap at which the site is within its bound, and keeps
// it while Redis is away.
func TestPilot(t *testing.T) {
	visitors, least, most := crowd(t)
	site := &worker{slots: make(chan struct{}, atOnce), began: time.Now(), took: map[int][]time.Duration{}}
	shop := httptest.NewServer(site)
	t.Cleanup(shop.Close)
	redis := room.StartRedis(t)
	var servers [2]*room.Server
	var fronts [2]string
	for i := range servers {
		fronts[i] = room.FreeAddr(t)
		servers[i] = room.Start(t, map[string]string{
			"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": "redis://" + redis.Addr(),
			"QUEUE_SITES_ADDR": fronts[i], "QUEUE_UPSTREAM": shop.URL, "QUEUE_ZONE": "SHOP=2400", "QUEUE_DOOR_LIMITS": "off",
		})
	}
	set := func(settings string) { servers[0].Operate(t, http.MethodPatch, "/admin/zones/SHOP", settings) }
	set(`{"maxInside":420,"sessionSeconds":60,"passTtlSeconds":20,"donePaths":["/thanks"],"pilotMin":40,"pilotMax":420,"pilotP95Millis":250}`)

	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2_000}}
	var guests sync.WaitGroup
	var failed atomic.Int64
	t.Cleanup(func() { cancel(); guests.Wait() })
	for i := range visitors { // those who go come again, so that there is always a line
		guests.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				if err := guest(ctx, client, servers[n%2], fronts[n%2], least+rand.N(most-least)); err != nil {
					failed.Add(1)
					<-time.After(time.Second)
				}
			}
		})
	}
	since := func() time.Duration { return time.Since(site.began) }
	<-time.After(50 * time.Second)
	within, used := site.judge(since()-25*time.Second, since())
	t.Logf("a cap of 420, no autopilot: within the bound %.2f of the time, %.2f of the best", within, used)
	if within > 0.2 {
		t.Errorf("the site is well without the autopilot; %s", room.Machine())
	}

	set(`{"pilot":"steer"}`)
	const look = 20 * time.Second
	from := since()
	if !room.Soon(t, 5*time.Minute, func() bool {
		within, used = site.judge(max(from, since()-look), since())
		return since() > from+2*look && within >= 0.9
	}) {
		t.Errorf("the autopilot finds no cap at which the site is well; %s", room.Machine())
	}
	if os.Getenv("VISITORS") != "" { // as long as that takes
		from += 2 * time.Minute
		<-time.After(from + 5*time.Minute - since())
		if within, used = site.judge(from, since()); within < 0.95 || used < 0.85 {
			t.Errorf("after two minutes: within the bound %.2f of the time, %.2f of the best; %s", within, used, room.Machine())
		}
	}
	view := func() (body string, is steering) {
		body = servers[1].Operate(t, http.MethodGet, "/admin/zones/SHOP/pilot", "").Body
		must(t, json.Unmarshal([]byte(body), &is))
		return body, is
	}
	body, is := view()
	t.Logf("with the autopilot, after %v: within the bound %.2f of the time, %.2f of the best; %d visitors failed; %s", since()-from, within, used, failed.Load(), room.Machine())
	for _, s := range slices.Backward(is.Steps) {
		t.Logf("%d to %d: %s", s.From, s.To, s.Why)
	}
	// Simulated, it does nine tenths of the best (package pilot). Here the site is as slow as the machine is, and that lowers the cap, too.
	if is.MaxInside < 40 || is.MaxInside >= 420 || len(is.Steps) == 0 {
		t.Fatalf("the autopilot did not steer: %s", body)
	}
	for i, s := range is.Steps[:len(is.Steps)-1] { // one step at a time, whichever server makes it
		if s.From != is.Steps[i+1].To {
			t.Errorf("a step from %d follows one to %d", s.From, is.Steps[i+1].To)
		}
	}

	redis.Kill()
	room.Await(t, "the autopilot says that the store is away", func() bool {
		_, is = view()
		return is.State == "no store"
	})
	held := is.MaxInside
	for range 15 { // more than a look, and the store is away
		<-time.After(time.Second)
		if _, is = view(); is.MaxInside != held || is.State != "no store" {
			t.Fatalf("without a store the cap goes from %d to %d: %s", held, is.MaxInside, is.State)
		}
	}
	room.Launch(t, redis) // empty
	room.Await(t, "the autopilot goes on", func() bool {
		_, is = view()
		return is.State == "on"
	})
	if n := len(is.Steps); is.MaxInside != held && (n == 0 || is.Steps[n-1].From != held) {
		t.Errorf("the cap was %d, and is %d after the steps %v", held, is.MaxInside, is.Steps)
	}
}

// steering is the autopilot, as a server says it.
type steering struct {
	State     string `json:"state"`
	MaxInside int64  `json:"maxInside"`
	Steps     []struct {
		From int64  `json:"from"`
		To   int64  `json:"to"`
		Why  string `json:"why"`
	} `json:"steps"`
}
