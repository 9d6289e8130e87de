package edge

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/openqueue/waitingroom/client"
	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInNode runs the tests of the module.
func TestInNode(t *testing.T) {
	t.Parallel()
	room.Do(t, ".", "node", "--test", folder+"test/")
}

// TestVisitors: a normal day, a line, an exchange, and those who try to get in by what is not theirs.
func TestVisitors(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("SHOP")
	z.BypassPaths, z.Sites = []string{"/assets/*"}, []string{"http://shop.example"}
	f := startShopfront(t, "hold", z, nil)

	// A normal day: no redirect, and a session that no cache keeps.
	inside := newBrowser(t, f.edge, "203.0.113.1")
	first := inside.open("/cached/a?item=7")
	if first.Status != 200 || first.Body != "the shop" || inside.session() == "" || first.Header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("a normal day: %+v", first)
	}
	if seen := f.room.Admin(t, http.MethodGet, "/metrics", "").Body; !strings.Contains(seen, `queue_joins_unlimited_total{reason="trusted"} 0`) {
		t.Error("the room was not told the visitor's address")
	}
	if again := inside.ask(http.MethodPost, "/api"); again.Status != 200 {
		t.Errorf("inside: %+v", again)
	}

	// A line.
	f.room.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	waits := newBrowser(t, f.edge, "203.0.113.2")
	room.Await(t, "the edge knows of the pause", func() bool {
		return newBrowser(t, f.edge, "203.0.113.3").open("/cached/a").Status == http.StatusFound
	})
	to := led(t, waits.open("/cart?item=7"))
	if to.Host != "queue.shop.example" || to.Path != "/wait/SHOP" || to.Query().Get("to") != "http://shop.example/cart?item=7" {
		t.Errorf("led to %s", to)
	}
	for name, header := range map[string][]string{
		"forged":   {"Cookie", "waitingroom_session-SHOP=" + inside.session() + "x"},
		"a call":   {"Sec-Fetch-Site", "same-origin"},
		"the room": {"Cookie", "waitingroom_session-SHOP=" + strings.Repeat("A", 71)},
	} {
		if got := newBrowser(t, f.edge, "203.0.113.4").ask(http.MethodGet, "/api", header...); got.Status != 429 || !strings.Contains(got.Body, "admission_required") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := newBrowser(t, f.edge, "203.0.113.4").ask(http.MethodGet, "/assets/a.js"); got.Status != 200 {
		t.Errorf("an asset: %+v", got)
	}
	if got := newBrowser(t, f.edge, "203.0.113.4").ask(http.MethodGet, "/checkout/%2e%2e/assets/a.js"); got.Status != 429 {
		t.Errorf("a path that the shop gets as it is written: %+v", got)
	}
	if got := inside.open("/cart"); got.Status != 200 {
		t.Errorf("inside, while others wait: %+v", got)
	}

	// The line goes on: the pass is good for the browser that waited, and for no other.
	f.room.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":600}`)
	link := "/cart?item=7&waiting_room_pass=" + passOf(t, f.room)
	if back := led(t, waits.open(link)); back.String() != "/cart?item=7" || waits.session() == "" {
		t.Errorf("back to %s", back)
	}
	f.room.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	for _, other := range []*browser{newBrowser(t, f.edge, "203.0.113.2"), newBrowser(t, f.edge, "203.0.113.5")} {
		to := led(t, other.open(link)) // a new key, and the same again
		if to = led(t, other.open("http://shop.example"+to.String())); to.Query().Get("refused") == "" || other.session() != "" {
			t.Errorf("a copied link: led to %s", to)
		}
	}
	for range 3 { // its answer got lost
		if led(t, waits.open(link)); waits.session() == "" {
			t.Error("the browser that waited, again")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.visits {
		if strings.Contains(v.path, "waiting_room_pass") {
			t.Errorf("the shop saw a pass: %s", v.path)
		}
	}
}

// TestTheRoomIsAway: who is inside goes on; the others are held, or let through, as configured.
func TestTheRoomIsAway(t *testing.T) {
	t.Parallel()
	for onFailure, want := range map[string]int{"hold": 503, "admit": 200} {
		t.Run(onFailure, func(t *testing.T) {
			t.Parallel()
			z := zone.Defaults("SHOP")
			z.PageTitle = "Café & Söhne"
			f := startShopfront(t, onFailure, z, nil)
			inside := newBrowser(t, f.edge, "203.0.113.1")
			room.Await(t, "somebody is inside", func() bool { // one whose answer is late goes on without a session, with admit
				return inside.open("/").Status == http.StatusOK && inside.session() != ""
			})
			f.room.Kill()
			for i := range 20 {
				if got := inside.open("/cart"); got.Status != 200 || got.Body != "the shop" {
					t.Errorf("inside: %+v", got)
				}
				newcomer := newBrowser(t, f.edge, fmt.Sprintf("203.0.113.%d", 10+i))
				got := newcomer.once(http.MethodGet, "/", "Sec-Fetch-Mode", "navigate", "Accept-Language", "xx,de-AT;q=0.9")
				if got.Status != want || newcomer.session() != "" {
					t.Errorf("a newcomer: %+v", got)
				}
				again, _ := strconv.Atoi(got.Header.Get("Refresh"))
				german := strings.Contains(got.Body, `<html lang="de"`) && strings.Contains(got.Body, "Café &amp; Söhne")
				if want == 503 && (!german || again < 5 || again > 14) {
					t.Errorf("a newcomer: %+v", got)
				}
			}
		})
	}
}

// TestTheCap: with maxInside no more are inside than allowed, and a path of donePaths gives the slot back.
func TestTheCap(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("SHOP")
	z.MaxInside, z.DonePaths = 3, []string{"/thanks*"}
	f := startShopfront(t, "hold", z, nil)
	var inside []*browser
	late := 0
	for i := range 6 {
		b := newBrowser(t, f.edge, fmt.Sprintf("203.0.113.%d", i))
		if b.open("/"); b.session() != "" {
			inside = append(inside, b)
		}
		late += b.late // whoever was admitted with an answer that came too late has a slot, too
	}
	if n := len(inside); n == 0 || n > 3 || n+late < 3 {
		t.Fatalf("%d are inside, want 3; %d answers were late", n, late)
	}
	fromTheSite := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "same-origin"}
	if got := inside[0].ask(http.MethodGet, "/thanks?order=7", fromTheSite...); got.Status != 200 {
		t.Errorf("the page that thanks: %+v", got)
	}
	var next *browser
	room.Await(t, "the slot is offered again", func() bool {
		next = newBrowser(t, f.edge, "203.0.113.99") // one who was sent to wait would be sent there again
		return next.open("/").Status == 200
	})
	if other := newBrowser(t, f.edge, "203.0.113.98"); other.open("/").Status != http.StatusFound {
		t.Error("a slot was given twice")
	}
}

// TestOnNode: the middleware before a server of Node.
func TestOnNode(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("SHOP")
	z.Sites = []string{"http://shop.example"}
	r := startRoom(t, z, nil)
	addr := room.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	room.StartListener(t, addr, &process.Process{Name: "node", Args: []string{"testdata/shop.mjs", port, r.Public}})
	inside, waits := newBrowser(t, addr, ""), newBrowser(t, addr, "")
	if got := inside.open("/a?b"); got.Status != 200 || got.Body != "the shop: /a?b" || inside.session() == "" {
		t.Errorf("a normal day: %+v", got)
	}
	r.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	room.Await(t, "the gate knows of the pause", func() bool { return newBrowser(t, addr, "").open("/").Status == http.StatusFound })
	if to := led(t, waits.open("/a?b")); to.Query().Get("to") != "http://shop.example/a?b" {
		t.Errorf("led to %s", to)
	}
	if got := inside.ask(http.MethodPost, "/api"); got.Status != 200 {
		t.Errorf("inside: %+v", got)
	}
	r.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":600}`)
	if back := led(t, waits.open("/a?waiting_room_pass="+passOf(t, r))); back.String() != "/a" || waits.session() == "" {
		t.Errorf("back to %s", back)
	}
}

// TestChallenges: where the room asks newcomers for a challenge, the edge lets no stranger in.
func TestChallenges(t *testing.T) {
	t.Parallel()
	z := zone.Defaults("SHOP")
	z.Challenge, z.ChallengeWhen = zone.ChallengeWork, zone.ChallengeAlways
	f := startShopfront(t, "hold", z, nil)
	room.Await(t, "the room asks for challenges", func() bool {
		return room.Request(t, http.MethodPost, f.room.Public+"/traffic/wait", `{"zoneId":"SHOP"}`).Status == http.StatusForbidden
	})
	for i := range 5 {
		b := newBrowser(t, f.edge, fmt.Sprintf("203.0.113.%d", i))
		if to := led(t, b.open("/")); to.Path != "/wait/SHOP" || b.session() != "" {
			t.Errorf("led to %s", to)
		}
	}
}

// TestACacheInFront: a cache between visitors and the edge hands nobody another's session, whatever the shop says to caches.
func TestACacheInFront(t *testing.T) {
	t.Parallel()
	f := startShopfront(t, "hold", zone.Defaults("SHOP"), nil)
	front := room.StartNginxOf(t, cache, room.Others{"CACHE": t.TempDir(), "SHOP": f.edge}, "")
	seen := map[string]bool{}
	for i := range 5 {
		app, page := newBrowser(t, front, fmt.Sprintf("203.0.113.%d", i)), newBrowser(t, front, fmt.Sprintf("203.0.113.%d", 100+i))
		got := app.ask(http.MethodGet, "/cached/api", "X-Waiting-Room-Pass", passOf(t, f.room))
		page.open("/cached/page")
		for _, session := range []string{got.Header.Get("X-Waiting-Room-Session"), page.session()} {
			if id := jti(session); got.Status != 200 || id == "" || seen[id] {
				t.Errorf("%d, the session %q was handed out before: %t", got.Status, session, seen[id])
			} else {
				seen[id] = true
			}
		}
	}
}

// TestCrowd: 300 visitors, some of whom show what is not theirs. As many get in as the room admits, each with a session of its own.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const visitors = 300
	z := zone.Defaults("SHOP")
	z.PerMinute, z.Sites = 1200, []string{"http://shop.example"}
	f := startShopfront(t, "hold", z, nil)

	var mu sync.Mutex
	sessions, passes, again := map[string]int{}, []string{}, 0
	var all sync.WaitGroup
	for i := range visitors {
		all.Go(func() {
			b := newBrowser(t, f.edge, fmt.Sprintf("198.51.%d.%d", 100+i/250, i%250))
			got := b.open("/cached/" + fmt.Sprint(i%5))
			if got.Status == http.StatusFound {
				to := led(t, got)
				pass := passOf(t, f.room)
				mu.Lock()
				passes = append(passes, pass)
				mu.Unlock()
				got = b.open(to.Query().Get("to") + "?waiting_room_pass=" + pass)
				got = b.open(led(t, got).String())
			}
			if got.Status != http.StatusOK || b.session() == "" {
				t.Errorf("a visitor: %d %v", got.Status, got.Header)
			}
			mu.Lock()
			defer mu.Unlock()
			sessions[jti(b.session())]++
			again += b.late
		})
	}
	all.Wait()
	if len(passes) == 0 {
		t.Error("nobody had to wait")
	}
	for session, n := range sessions {
		if n != 1 || session == "" {
			t.Errorf("%d visitors have the session %q", n, session)
		}
	}
	stats := f.room.Operate(t, http.MethodGet, "/admin/zones/SHOP/stats", "")
	// An answer that came too late is an admission without a visitor.
	admitted, ok := stats.Value(t, "totals", "admitted").(float64)
	if lost := int(admitted) - len(sessions); !ok || lost < 0 || lost > again {
		t.Errorf("the room admitted %v, %d got in, and %d answers were late", admitted, len(sessions), again)
	}
	// All passes were used: another browser gets in with none of them.
	for _, pass := range passes[:min(20, len(passes))] {
		b := newBrowser(t, f.edge, "203.0.113.7")
		to := led(t, b.open("/?waiting_room_pass="+pass))
		if led(t, b.open(to.String())); b.session() != "" {
			t.Error("a pass was good for two browsers")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	cached := 0
	for _, v := range f.visits {
		if strings.HasPrefix(v.path, "/cached") {
			cached++
		}
	}
	if cached > 5*visitors/10 {
		t.Errorf("the cache asked the shop %d times", cached)
	}
}

// passOf waits in the room as an app does, and returns the pass.
func passOf(t *testing.T, r *room.Server) string {
	t.Helper()
	admission, err := client.Wait(t.Context(), client.Options{URL: r.Public, Zone: "SHOP"})
	if err != nil {
		t.Error(err)
		return ""
	}
	return admission.Pass
}

// jti is the admission of a session.
func jti(session string) string {
	fields := strings.Split(session, ".")
	if len(fields) != 6 {
		return ""
	}
	return fields[4]
}
