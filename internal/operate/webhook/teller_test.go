package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// heart is a store with one zone, whose line has a place each second from 1 s on.
type heart struct {
	mu       sync.Mutex
	settings zone.Settings
	stats    line.Stats
	aside    []store.Silent
	changes  []zone.Change
	document store.Document
}

func (h *heart) Aside(_ context.Context, _ string, each func(store.Silent)) error {
	for _, p := range h.aside {
		each(p)
		each(p) // a scan may say so twice
	}
	return nil
}

func (h *heart) StandsAt(_ context.Context, _ string, rank int64) (int64, bool, error) {
	return (rank + 1) * 1_000_000, rank < 1_000, nil
}

func (h *heart) Progress(context.Context, string) (store.Document, error) { return h.document, nil }

func (h *heart) PutProgress(_ context.Context, _ string, d store.Document, was int64) error {
	if h.document.Version != was {
		return store.ErrDocumentChanged
	}
	h.document = d
	return nil
}

// receiver notes the calls whose signature is right, and answers as it is told.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	ids   []string
	as    func(w http.ResponseWriter, n int)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	sum := hmac.New(sha256.New, secret)
	fmt.Fprintf(sum, "%s.%s.%s", req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp"), body)
	var m struct {
		Type string
		Data json.RawMessage
	}
	right := req.Header.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if err != nil || !right || json.Unmarshal(body, &m) != nil {
		m.Type = "wrong"
	}
	r.mu.Lock()
	r.calls, r.ids = append(r.calls, m.Type+" "+string(m.Data)), append(r.ids, req.Header.Get("webhook-id"))
	n := len(r.calls)
	r.mu.Unlock()
	if r.as != nil {
		r.as(w, n)
	}
}

// took returns the calls since the last time.
func (r *receiver) took() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := strings.Join(r.calls, "\n")
	r.calls = nil
	return all
}

type world struct {
	*heart
	*receiver
	now  time.Time
	hook Hook
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := zone.Defaults("SHOP")
	s.PerMinute = 60
	w := &world{heart: &heart{settings: s}, receiver: &receiver{}, now: time.UnixMilli(100_000_000)}
	w.stats.State = line.State{NowMillis: 100_000_000, EdgeMicros: 10_000_000, Released: 10, Live: 0, Waiting: 1_000}
	w.receiver.Server = httptest.NewTLSServer(w.receiver)
	t.Cleanup(w.receiver.Close)
	w.hook = Hook{Name: "shop", URL: w.URL, Secret: "whsec_" + base64.StdEncoding.EncodeToString(secret), Events: Events, PrivateNetworks: []string{"127.0.0.0/8"}}
	return w
}

func (w *world) server(t *testing.T) *worker {
	t.Helper()
	h := w.hook
	if faults := h.check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.Certificate())
	made := New(Options{
		Hooks: []Hook{h}, Store: w.heart, Roots: roots, Now: func() time.Time { return w.now }, Registerer: prometheus.NewRegistry(),
		Logger: slog.New(slog.DiscardHandler),
		Watched: func() iter.Seq2[zone.Settings, line.Stats] {
			return func(yield func(zone.Settings, line.Stats) bool) {
				w.stats.Aside = int64(len(w.aside))
				yield(w.settings, w.stats)
			}
		},
		Changes: func(context.Context, string) ([]zone.Change, error) { return append([]zone.Change(nil), w.heart.changes...), nil },
	})
	t.Cleanup(made.workers[0].client.CloseIdleConnections)
	return made.workers[0]
}

func (w *world) forward(d time.Duration) {
	w.now = w.now.Add(d)
	w.stats.State.NowMillis += d.Milliseconds()
}

// silence sets a place aside that stands at the second.
func (w *world) silence(second int64) string {
	id := line.ID{byte(second >> 8), byte(second)}
	w.aside = append(w.aside, store.Silent{ID: id, AtMillis: w.stats.State.NowMillis, StandsMicros: second * 1_000_000})
	return id.PlaceID()
}

func (w *world) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := w.took(); got != strings.Join(want, "\n") {
		t.Errorf("%s: the receiver took\n%s\nwant\n%s", when, got, strings.Join(want, "\n"))
	}
}

func places(event string, ids ...string) string {
	return event + ` {"zoneId":"SHOP","places":["` + strings.Join(ids, `","`) + `"]}`
}

// TestEachIsToldOnce: a place is told when its turn is within soonSeconds and when it came, or when it is set aside after that; a server that takes over
// tells nothing again, and forgets nothing.
func TestEachIsToldOnce(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	one, two := w.server(t), w.server(t)
	run := func() {
		w.forward(6 * time.Second)
		one.runOnce(ctx)
		two.runOnce(ctx)
	}
	run()
	far, near := w.silence(500), w.silence(100)
	run()
	w.expect(t, "within 120 s", places(PlaceSoon, near))
	run()
	over := w.silence(5)
	run()
	w.expect(t, "its turn is over", places(PlaceTurn, over))
	w.stats.State.EdgeMicros, w.stats.State.Released = 450_000_000, 450
	run()
	w.expect(t, "the line goes on", places(PlaceSoon, far), places(PlaceTurn, near))
	// The first server is killed. The second has seen no write for 30 s.
	w.stats.State.EdgeMicros, w.stats.State.Released = 600_000_000, 600
	for range 6 {
		w.forward(6 * time.Second)
		two.runOnce(ctx)
	}
	w.expect(t, "another server", places(PlaceTurn, far))
	one.runOnce(ctx) // it comes back, and finds that it has lost the work
	if w.expect(t, "who was away"); one.working || !two.working {
		t.Errorf("working: %v and %v", one.working, two.working)
	}
}

// TestChanges: each change is told once, with who made it.
func TestChanges(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	old := w.settings
	w.heart.changes = []zone.Change{{AtMillis: 1, ZoneID: "SHOP", By: audit.By{Name: "Ada"}, Now: &old}}
	one := w.server(t)
	one.runOnce(ctx)
	now := old
	now.PerMinute = 90
	w.settings = now
	w.heart.changes = append([]zone.Change{{AtMillis: 2, ZoneID: "SHOP", By: audit.By{Name: "Bo", Via: audit.ViaCLI}, Was: &old, Now: &now}}, w.heart.changes...)
	for range 3 {
		w.forward(time.Second)
		one.runOnce(ctx)
	}
	w.expect(t, "a change", `zone.changed {"zoneId":"SHOP","by":"Bo","via":"cli","what":["perMinute 60 -\u003e 90"]}`)
}

// TestRetries: a call that gets an error or a redirect is made again with the same id and growing pauses for an hour; then it is given up, and the next is made.
func TestRetries(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.as = func(rw http.ResponseWriter, n int) {
		rw.Header().Set("Location", w.URL)
		rw.WriteHeader([]int{http.StatusInternalServerError, http.StatusFound}[n%2])
	}
	one := w.server(t)
	one.runOnce(ctx)
	w.forward(6 * time.Second)
	w.silence(100)
	for range 3700 {
		w.forward(time.Second)
		one.runOnce(ctx)
	}
	n := strings.Count(w.took(), PlaceSoon)
	if n < 15 || n > 25 || len(one.pending) > 0 || one.bytes != 0 {
		t.Errorf("%d calls in an hour, %d wait, %d bytes", n, len(one.pending), one.bytes)
	}
	for _, id := range w.ids {
		if id != w.ids[0] {
			t.Errorf("ids %s and %s", w.ids[0], id)
		}
	}
	w.as = nil
	w.aside = nil
	next := w.silence(101)
	for range 12 {
		w.forward(time.Second)
		one.runOnce(ctx)
	}
	w.expect(t, "the next", places(PlaceSoon, next))
}

// TestAddresses: only public addresses are called, and those that the webhook names; a name is resolved first.
func TestAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook.PrivateNetworks = nil
	one := w.server(t)
	if err := one.hook.send(t.Context(), one.client, "msg_1", w.now, nil); !errors.Is(err, errAddress) {
		t.Errorf("loopback: %v", err)
	}
	for address, may := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700::1]:443": true, "10.1.2.3:443": false, "169.254.169.254:80": false, "[::ffff:127.0.0.1]:443": false,
		"[fd00::1]:443": false, "[64:ff9b::7f00:1]:443": false, "100.64.0.1:443": false, "0.0.0.0:443": false, "[fe80::1%eth0]:443": false,
	} {
		if got := one.hook.mayDial(address) == nil; got != may {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	good := "- name: shop\n  url: https://shop.example/x\n  secret: whsec_" + base64.StdEncoding.EncodeToString(secret) + "\n  events: [place.soon]\n"
	if all, err := Parse("f", []byte(good)); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for from, to := range map[string]string{
		"https:": "http:", "name: shop": "name: Shop", "whsec_": "", "[place.soon]": "[place.now]", "events": "event",
	} {
		_, err := Parse("f", []byte(strings.Replace(good, from, to, 1)))
		if err == nil || strings.Contains(err.Error(), "MDEy") {
			t.Errorf("%s: %v", to, err)
		}
	}
}
