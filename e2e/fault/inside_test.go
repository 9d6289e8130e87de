package fault

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/zone"
)

// aSmallShop visit a shop with a cap, unless VISITORS says otherwise; aFullShop at most. With fewer, all takes a part of the time.
const aSmallShop, aFullShop = 600, 3_000

// shop is a site behind nginx and two gates. It counts by itself who is inside.
type shop struct {
	*crowd
	web     *balancer
	servers []*room.Server
	most    int     // the cap
	scale   float64 // of all times, 1 at full size
	began   time.Time

	counts           sync.Mutex
	inside           map[string]bool
	peak, over       int
	unused           int
	returned         []int64              // when slots came back, in milliseconds
	refused          []string             // what somebody who was admitted got instead of a page
	unanswered       []string             // those who got no answer, or one that says that the room or its store is too slow
	told             map[*visitor][]guess // what those who wait were told
	leaves           map[*visitor]time.Time
	off              []float64 // by how much the estimates were off
	ranges, inRanges int
}

// guess is an estimate: when, and how long the wait was said to be, in milliseconds.
type guess struct{ at, wait, low, high int64 }

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.counts.Lock()
	defer s.counts.Unlock()
	name := r.Header.Get("X-Shopper")
	if r.URL.Path != "/thanks" {
		s.inside[name] = true
		if s.peak = max(s.peak, len(s.inside)); len(s.inside) > s.most {
			s.over++
		}
	} else if s.inside[name] {
		delete(s.inside, name)
		s.returned = append(s.returned, time.Now().UnixMilli())
	}
	_, _ = fmt.Fprint(w, "the shop")
}

// saw has a third leave the line without a word, sooner or later, and has whoever is admitted go to the shop.
func (s *shop) saw(v *visitor, t room.Answer, now time.Time) (leaves bool) {
	s.counts.Lock()
	defer s.counts.Unlock()
	if !t.CanEnter {
		low, high := t.Waiting.EstimatedWaitRange.Low, t.Waiting.EstimatedWaitRange.High
		s.told[v] = append(s.told[v], guess{now.UnixMilli(), t.Waiting.EstimatedWait, low, high})
		if len(s.told[v]) == 1 && rand.Float64() < 0.45 { // some enter before they would leave
			s.leaves[v] = now.Add(s.seconds(150 * rand.Float64()))
		}
		at, leaves := s.leaves[v]
		return leaves && now.After(at)
	}
	for _, g := range s.told[v] {
		if took := float64(t.Admission.AdmittedAt - g.at); took > 10_000*s.scale {
			s.off = append(s.off, max(float64(g.wait)/took-1, 1-float64(g.wait)/took))
			if g.high > 0 {
				s.ranges++
			}
			if g.high > 0 && float64(g.low) <= took && took <= float64(g.high) {
				s.inRanges++
			}
		}
	}
	if rand.IntN(10) == 0 {
		s.unused++
		s.returned = append(s.returned, t.Admission.ExpiresAt)
		return false
	}
	s.running.Go(func() { s.visitShop(v.name, t) })
	return false
}

// seconds is so much time, at full size.
func (s *shop) seconds(n float64) time.Duration {
	return time.Duration(n * s.scale * float64(time.Second))
}

// visitShop has an admitted visitor begin a session, look around for 20 to 120 s, and buy. A 503 before the session says to come
// again, as the gate answers where its store is slow. A visitor who never gets a session, or loses it, is noted.
func (s *shop) visitShop(name string, t room.Answer) {
	header := []string{"X-Shopper", name, "X-Waiting-Room-Pass", t.Admission.Pass, "X-Waiting-Room-Token", t.Token}
	note := func(path string, r room.Reply, err error) {
		s.counts.Lock()
		defer s.counts.Unlock()
		said := fmt.Sprintf("%s: %s after %v: %d %s %v", name, path, time.Since(s.began), r.Status, r.Body, err)
		expired := header[2] != "X-Waiting-Room-Session" && time.Now().UnixMilli() >= t.Admission.ExpiresAt
		if err != nil || r.Status >= http.StatusInternalServerError || expired {
			s.unanswered = append(s.unanswered, said)
		} else {
			s.refused = append(s.refused, said)
		}
	}
	again := false
	ask := func(path string) bool {
		r, err := room.Ask(s.ctx, s.web.client, http.MethodGet, s.web.servers[0].Public+path, "", header...)
		if session := r.Header.Get("X-Waiting-Room-Session"); session != "" {
			header[2], header[3] = "X-Waiting-Room-Session", session
		}
		again = err == nil && r.Status == http.StatusServiceUnavailable && header[2] != "X-Waiting-Room-Session"
		if !again && (err != nil || r.Status != http.StatusOK) {
			note(path, r, err)
		}
		return err == nil && r.Status == http.StatusOK
	}
	for good := time.UnixMilli(t.Admission.ExpiresAt).Add(-2 * time.Second); !ask("/"); {
		if !pause(s.ctx, time.Second) || time.Now().After(good) {
			if again {
				note("/", room.Reply{Status: http.StatusServiceUnavailable, Body: "until the pass expired"}, nil)
			}
			return
		}
	}
	until := time.Now().Add(s.seconds(min(20+30*rand.ExpFloat64(), 120)))
	for pause(s.ctx, min(s.seconds(8), time.Until(until))) && time.Now().Before(until) {
		ask("/")
	}
	ask("/thanks")
}

// stats is what an operator sees of those inside.
type stats struct {
	Inside  int64 `json:"inside"`
	Waiting int64 `json:"waiting"`
}

// TestInside: a crowd goes through a shop with a cap, over nginx with sessions. The shop itself counts: never are more inside than
// may be. Of 3,000 (VISITORS=3000) some 1,900 come, and stay for 20 to 120 s; it takes seven minutes.
func TestInside(t *testing.T) {
	t.Parallel()
	for fault, breaks := range map[string]func(t *testing.T, s *shop, e *engine){
		"a cap, no fault": nil,
		"a cap, Redis killed": func(t *testing.T, s *shop, e *engine) {
			t.Helper()
			e.Kill()
			pause(s.ctx, s.seconds(20))
			e.start(t)
		},
		"a cap, FLUSHALL": func(t *testing.T, _ *shop, e *engine) {
			t.Helper()
			e.do(t, "FLUSHALL")
		},
		"a cap, upgraded from 0.1.0": func(t *testing.T, s *shop, _ *engine) {
			t.Helper()
			for _, server := range s.servers {
				server.Upgrade(t)
			}
		},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			visitors := min(sizeOf(t, aSmallShop), aFullShop)
			s := &shop{most: visitors / 10, scale: float64(visitors) / aFullShop, inside: map[string]bool{}, told: map[*visitor][]guess{}, leaves: map[*visitor]time.Time{}}
			site := httptest.NewServer(s)
			t.Cleanup(site.Close)
			e := startEngine(t, "--appendonly", "yes")
			var servers []*room.Server
			for range 2 {
				server := room.New(t, settings(e.URL(), map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1"}))
				if strings.HasSuffix(fault, "from 0.1.0") {
					server.Be010(t)
				}
				server.Start(t)
				servers = append(servers, server)
			}
			s.servers = servers
			both := func(url func(*room.Server) string) string {
				return strings.ReplaceAll(fmt.Sprintf("server %s max_fails=0; server %s max_fails=0;", url(servers[0]), url(servers[1])), "http://", "")
			}
			addr := servers[0].NginxSite(t, "SHOP", "enter", room.Others{
				"server 127.0.0.1:8083;": both(func(s *room.Server) string { return s.Site }),
				"server 127.0.0.1:8080;": both(func(s *room.Server) string { return s.Public }),
				"server 127.0.0.1:8000;": "server " + site.Listener.Addr().String() + ";",
			}, "")
			z := zone.Defaults("SHOP")
			z.MaxInside, z.PerMinute, z.DonePaths = int64(s.most), 1200, []string{"/thanks"}
			z.SessionSeconds, z.PassTTLSeconds, z.IdleTimeoutSeconds = zone.MinSessionSeconds, max(zone.MinPassTTLSeconds, int64(30*s.scale)), 20
			servers[0].Put(t, z, servers[1:]...)
			s.web = newBalancer(&room.Server{Public: "http://" + addr})
			t.Cleanup(s.web.close)
			s.crowd, s.began = newCrowd(t, s.web), time.Now()
			s.crowd.saw = s.saw
			s.arrive(z.ZoneID, visitors, s.seconds(60))

			// While it goes on, an operator looks how much of the cap is in use.
			gone := make(chan struct{})
			go func() { s.running.Wait(); close(gone) }()
			var use []float64
			for ended := false; !ended; {
				if breaks != nil && time.Since(s.began) > s.seconds(90) {
					breaks(t, s, e)
					breaks = nil
				}
				var now stats
				if r := servers[0].Admin(t, http.MethodGet, "/admin/zones/SHOP/stats", ""); r.Status == http.StatusOK {
					if err := json.Unmarshal([]byte(r.Body), &now); err != nil {
						t.Fatal(err)
					}
				}
				if time.Since(s.began) > s.seconds(60) && now.Waiting > int64(s.most)/2 {
					use = append(use, float64(now.Inside)/float64(s.most))
				}
				select {
				case <-gone:
					ended = true
				case <-time.After(s.seconds(1)):
				}
			}
			s.finish(t, z, use, strings.HasSuffix(fault, "no fault"))
		})
	}
}

// finish judges what everybody saw, and tells the figures.
func (s *shop) finish(t *testing.T, z zone.Settings, use []float64, well bool) {
	t.Helper()
	v := s.judge(z)
	slices.Sort(s.returned)
	slices.Sort(s.off)
	var taken []float64 // how long a slot that came back was free, in milliseconds
	for i, at := range s.returned[:max(0, min(len(s.returned), len(v.Times)-s.most))] {
		taken = append(taken, float64(v.Times[s.most+i]-at))
	}
	slices.Sort(taken)
	mean := 0.0
	for _, u := range use {
		mean += u / float64(len(use))
	}
	t.Logf("%d visitors in %v: %d let in, %d of them never came, %d lost; at most %d inside, of %d: %d over; %.1f %% of the cap in use; a slot is taken after %.0f ms (median), %.0f ms (p90); "+
		"estimates off by %.0f %% (median of %d), %.0f %% in their ranges; overtaken by %.2f windows' worth (p99); %d rose; %d requests failed",
		len(s.visitors), time.Since(s.began).Round(time.Second), v.Admitted, s.unused, len(v.lost), s.peak, s.most, s.over, 100*mean,
		measure.Percentile(taken, 50), measure.Percentile(taken, 90), 100*measure.Percentile(s.off, 50), len(s.off), 100*float64(s.inRanges)/float64(max(1, s.ranges)), v.overtaken(99), v.Rose, v.errors)
	if s.over > 0 || v.Over > 0 {
		t.Errorf("over the cap %d times, over a limit %d times", s.over, v.Over)
	}
	if len(v.lost) > 0 || v.inversions > 0 || v.Rose > 0 && well || len(v.odd) > 0 {
		t.Errorf("%d lost (%s), %d inversions, %d rose, %d odd answers (%s)", len(v.lost), some(v.lost), v.inversions, v.Rose, len(v.odd), some(v.odd))
	}
	bad := s.refused
	if onTime() {
		bad = append(bad, s.unanswered...)
	}
	if len(bad) > 0 && (well || len(bad) > s.most) {
		t.Errorf("%d who were let in got no page: %s", len(bad), some(bad))
	}
}
