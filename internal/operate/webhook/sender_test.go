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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// room is a store with one zone or several, whose lines are the same. Turns within 120 s are expected up to soon.
type room struct {
	settings []*zone.Settings
	stats    line.Stats
	soon     int64
	aside    []store.Silent
	changes  []zone.Change
	document line.Document
	// away: the record cannot be read. looks is how often the places were read.
	away  bool
	looks int
}

func (r *room) Aside(_ context.Context, _ string, each func(store.Silent)) error {
	r.looks++
	for _, p := range r.aside {
		each(p)
		each(p) // a scan may say so twice
	}
	return nil
}

func (r *room) Document(context.Context, string) (line.Document, error) { return r.document, nil }

func (r *room) PutDocument(_ context.Context, _ string, d line.Document, was int64, _ ...line.Note) error {
	if r.document.Version != was {
		return line.ErrDocumentChanged
	}
	r.document = d
	return nil
}

func (r *room) Settings(zoneID string) *zone.Settings {
	for _, s := range r.settings {
		if s.ZoneID == zoneID {
			return s
		}
	}
	return nil
}

func (r *room) Upto(string, int64) int64 { return r.soon }

func (r *room) Record(_ context.Context, zoneID string, _ int) (of audit.Page, _ error) {
	for i, c := range r.changes {
		if c.ZoneID == zoneID {
			text, err := json.Marshal(recorded{c, int64(len(r.changes) - i)})
			if err != nil {
				return of, err
			}
			of.Entries = append(of.Entries, string(text))
		}
	}
	if r.away {
		return of, line.ErrStoreUnavailable
	}
	return of, nil
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
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	right := req.Header.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if err != nil || !right || json.Unmarshal(body, &m) != nil {
		m.Type = "wrong"
	}
	r.mu.Lock()
	r.calls, r.ids = append(r.calls, m.Type+" "+string(m.Data)), append(r.ids, req.Header.Get("webhook-id"))
	n, as := len(r.calls), r.as
	r.mu.Unlock()
	if as != nil {
		as(w, n)
	}
}

// answers has the receiver answer as the function does, with the number of the call.
func (r *receiver) answers(as func(w http.ResponseWriter, n int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.as = as
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
	*room
	*receiver
	now  time.Time
	hook Hook
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := zone.Defaults("SHOP")
	s.PerMinute = 60
	w := &world{room: &room{settings: []*zone.Settings{&s}}, receiver: &receiver{}, now: time.UnixMilli(100_000_000)}
	w.stats.State = line.State{NowMillis: 100_000_000, EdgeMicros: 10_000_000, Released: 10, Waiting: 1_000}
	w.soon = 130_000_000
	w.Server = httptest.NewTLSServer(w.receiver)
	t.Cleanup(w.Close)
	w.hook = Hook{Name: "shop", URL: w.URL, Secret: "whsec_" + base64.StdEncoding.EncodeToString(secret), Events: Events, PrivateNetworks: []string{"127.0.0.0/8"}}
	return w
}

// server is one more server. A test calls its runOnce.
func (w *world) server(t testing.TB) *worker {
	t.Helper()
	h := w.hook
	if faults := h.check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.Certificate())
	made := New(Options{
		Hooks: []Hook{h}, Zones: w.room, Store: w.room, Roots: roots, Now: func() time.Time { return w.now }, Registerer: prometheus.NewRegistry(),
		Logger: slog.New(slog.DiscardHandler),
		Watched: func() iter.Seq2[zone.Settings, line.Stats] {
			return func(yield func(zone.Settings, line.Stats) bool) {
				w.stats.Aside = int64(len(w.aside))
				for _, s := range w.settings {
					if !yield(*s, w.stats) {
						return
					}
				}
			}
		},
	})
	t.Cleanup(made.workers[0].client.CloseIdleConnections)
	return made.workers[0]
}

func (w *world) forward(d time.Duration) {
	w.now = w.now.Add(d)
	w.stats.State.NowMillis += d.Milliseconds()
}

// run has servers run once a second.
func (w *world) run(t *testing.T, d time.Duration, servers ...*worker) {
	t.Helper()
	for range d / time.Second {
		w.forward(time.Second)
		for _, s := range servers {
			s.runOnce(t.Context())
		}
	}
}

// silence sets a place aside that stands at the second.
func (w *world) silence(second int64) string {
	w.stats.Totals.SetAside++
	id := line.ID{byte(second >> 16), byte(second >> 8), byte(second)}
	w.aside = append(w.aside, store.Silent{ID: id, AtMillis: w.stats.State.NowMillis, StandsMicros: second * 1_000_000})
	return id.PlaceID()
}

func (w *world) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	if got := w.took(); got != strings.Join(want, "\n") {
		t.Errorf("%s: the receiver took\n%s\nwant\n%s", when, got, strings.Join(want, "\n"))
	}
}

// change changes a zone's settings; nil deletes it.
func (w *world) change(zoneID, by string, now *zone.Settings) {
	if now != nil {
		now = new(*now)
	}
	c := zone.Change{AtMillis: w.stats.State.NowMillis, ZoneID: zoneID, By: audit.By{Name: by, Via: audit.ViaCLI}, Now: now}
	w.settings = slices.DeleteFunc(slices.Clone(w.settings), func(s *zone.Settings) bool {
		if s.ZoneID == zoneID {
			c.Was = s
		}
		return s.ZoneID == zoneID
	})
	if now != nil {
		w.settings = append(w.settings, now)
	}
	w.changes = append([]zone.Change{c}, w.changes...)
}

func places(event string, ids ...string) string {
	return event + ` {"zoneId":"SHOP","places":["` + strings.Join(ids, `","`) + `"]}`
}

// TestEachIsToldOnce: a place is told when its turn is near and when it came, also if it is set aside only then; a server that takes over
// tells nothing again, and forgets nothing.
func TestEachIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.server(t), w.server(t)
	w.silence(100)
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "before the webhook")
	w.aside = nil
	far, near := w.silence(500), w.silence(100)
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "the turn is near", places(PlaceSoon, near))
	over := w.silence(5)
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "the turn was over", places(PlaceTurn, over))
	w.stats.State.EdgeMicros, w.soon = 450_000_000, 570_000_000
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "the line goes on", places(PlaceSoon, far), places(PlaceTurn, near))
	// The first server is killed. The other has seen no write for takeOver.
	w.stats.State.EdgeMicros, w.soon = 600_000_000, 720_000_000
	w.run(t, takeOver+renewEvery+time.Second, two)
	w.expect(t, "another server", places(PlaceTurn, far))
	one.dirty = true
	one.runOnce(t.Context()) // it comes back, and finds that it has lost the work
	if w.expect(t, "who was away"); one.working || !two.working {
		t.Errorf("working: %v and %v", one.working, two.working)
	}
	last := w.silence(5_000)
	w.stats.State.EdgeMicros, w.stats.State.Released = 4_000_000_000, w.stats.State.Waiting
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "nobody waits before it", places(PlaceTurn, last))
	looks := w.looks
	if w.settings[0].PerMinute = 0; w.looks == 0 {
		t.Error("nobody looked")
	}
	w.run(t, time.Minute, one, two) // the zone is paused: the edge stands
	if w.expect(t, "nothing happens"); w.looks > looks {
		t.Errorf("%d looks", w.looks-looks)
	}
	again := w.silence(5_000)
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "its turn was over before the pause")
	w.settings[0].PerMinute, w.settings[0].SoldOut = 60, setting.Texts{"en": "All tickets are sold."}
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "sold out")
	w.settings[0].SoldOut = nil
	w.run(t, 6*time.Second, one, two)
	w.expect(t, "some were given back", places(PlaceTurn, again))
}

// TestDrawn: whoever stands where it stood before people gathered for a draw is told of no turn, since the draw gives it another place.
func TestDrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t)
	one.runOnce(t.Context())
	now := time.UnixMilli(w.stats.State.NowMillis)
	at := func(in time.Duration) string { return now.Add(in).Format(time.RFC3339) }
	s := w.settings[0]
	s.Events = []event.Event{{Name: "noon", Order: event.OrderDraw, PreQueueAt: at(time.Minute), OpensAt: at(10 * time.Minute)}}
	steps := func() {
		for next, _, due := s.Due(w.now, func(string) (string, string) { return strings.Repeat("0", 32), strings.Repeat("0", 64) }); due; next, _, due = s.Due(w.now, nil) {
			*s = next
		}
	}
	steps()
	before := w.silence(5)
	w.run(t, 6*time.Second, one)
	w.expect(t, "before people gather", places(PlaceTurn, before))
	w.forward(time.Minute)
	steps()
	w.silence(6)
	w.stats.State.EdgeMicros = 500_000_000
	drawn := w.silence(w.now.Unix())
	w.run(t, 6*time.Second, one)
	w.expect(t, "while people gather")
	w.forward(10 * time.Minute)
	steps()
	w.stats.State.EdgeMicros = w.now.UnixMicro()
	w.run(t, 6*time.Second, one)
	w.expect(t, "after the opening", places(PlaceTurn, drawn))
}

// TestRounds: many places are told in the order of the line, up to 1,000 a call, and another server goes on where the first stopped.
func TestRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook.Events = []string{PlaceTurn}
	one, two := w.server(t), w.server(t)
	one.runOnce(t.Context())
	w.forward(time.Second)
	var want []string
	for i := range int64(mostCalls*mostPlaces + 1_500) {
		want = append(want, w.silence(100+i))
	}
	slices.Reverse(w.aside)
	w.stats.State.EdgeMicros = 90_000_000_000
	ctx, kill := context.WithCancel(t.Context())
	w.answers(func(_ http.ResponseWriter, n int) {
		if n == 7 {
			kill() // before the server has the answer
		}
	})
	w.forward(time.Second)
	one.runOnce(ctx)
	told := w.took()
	w.aside = w.aside[:len(w.aside)-6_500] // who was told came back, and others with them
	w.run(t, takeOver+20*time.Second, two)
	told += "\n" + w.took()
	var got []string
	for l := range strings.SplitSeq(told, "\n") {
		var d placesData
		if err := json.Unmarshal([]byte(strings.TrimPrefix(l, PlaceTurn)), &d); err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Places...)
	}
	if !slices.Equal(got, slices.Concat(want[:7_000], want[6_500:])) {
		t.Errorf("%d places were told, want 7,000 and %d of %d", len(got), len(want)-6_500, len(want))
	}
	if len(two.zones["SHOP"].calls) > 0 || two.bytes != 0 || two.progress.Zones["SHOP"].Turn.Round != nil {
		t.Errorf("the round has not ended: %+v", two.progress.Zones["SHOP"].Turn)
	}
}

// TestChanges: each change is told once, with who made it, also that a zone is made or deleted while its record cannot be read.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.changes = []zone.Change{{AtMillis: 1, ZoneID: "SHOP", By: audit.By{Name: "Ada"}, Now: w.settings[0]}}
	one, two := w.server(t), w.server(t)
	w.away = true
	w.run(t, time.Second, one, two)
	w.away = false
	w.run(t, time.Second, one, two)
	w.expect(t, "before the webhook")
	shop, sale := *w.settings[0], zone.Defaults("SALE")
	shop.PerMinute = 90
	w.change("SHOP", "Bo", &shop)
	shop.PerMinute = 70
	w.change("SHOP", "Cy", &shop)
	w.change("SALE", "Di", &sale)
	w.run(t, 3*time.Second, one, two)
	w.expect(t, "changes", `zone.changed {"zoneId":"SALE","by":"Di","via":"cli","what":["made with perMinute 600"]}`,
		`zone.changed {"zoneId":"SHOP","by":"Bo","via":"cli","what":["perMinute 60 -\u003e 90"]}`,
		`zone.changed {"zoneId":"SHOP","by":"Cy","via":"cli","what":["perMinute 90 -\u003e 70"]}`)
	w.stats.State.NowMillis -= 3_600_000 // the store's clock is set back
	shop.PerMinute = 80
	w.change("SHOP", "Al", &shop)
	w.stats.State.NowMillis += 3_600_000
	w.run(t, 2*time.Second, one, two)
	w.expect(t, "dated before others", `zone.changed {"zoneId":"SHOP","by":"Al","via":"cli","what":["perMinute 70 -\u003e 80"]}`)
	one.progress.Owner = "" // it is stopped
	if err := one.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.away = true
	w.change("SALE", "Ed", nil)
	w.run(t, 10*time.Second, two)
	w.expect(t, "the record cannot be read")
	w.away = false
	w.run(t, 2*time.Second, two)
	w.expect(t, "deleted", `zone.changed {"zoneId":"SALE","by":"Ed","via":"cli","what":["deleted"]}`)
	w.change("SALE", "Fi", &sale)
	w.run(t, 2*time.Second, two)
	w.expect(t, "made again", `zone.changed {"zoneId":"SALE","by":"Fi","via":"cli","what":["made with perMinute 600"]}`)
	w.change("SALE", "Gu", nil)
	w.changes, w.settings = nil, nil // 400 days later
	w.run(t, 2*time.Hour, two)
	if len(two.progress.Zones) > 0 || len(two.zones) > 0 {
		t.Errorf("the progress has zones that are no more: %+v", two.progress)
	}
}

// TestRetries: a call that gets an error, a redirect or no answer is made again with the same id and growing pauses for an hour; then it is
// given up, and the next is made.
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hang := make(chan struct{})
	w.answers(func(rw http.ResponseWriter, n int) {
		switch rw.Header().Set("Location", w.URL); n % 3 {
		case 0:
			rw.WriteHeader(http.StatusInternalServerError)
		case 1:
			rw.WriteHeader(http.StatusFound)
		default:
			<-hang
		}
	})
	one := w.server(t)
	one.client.Timeout = 500 * time.Millisecond
	one.runOnce(t.Context())
	w.forward(time.Second)
	w.silence(100)
	w.run(t, 4_000*time.Second, one)
	close(hang)
	if n := strings.Count(w.took(), PlaceSoon); n < 15 || n > 25 || len(one.zones["SHOP"].calls) > 0 || one.bytes != 0 {
		t.Errorf("%d calls in an hour, %v wait, %d bytes", n, one.zones["SHOP"].calls, one.bytes)
	}
	if lost := testutil.ToFloat64(one.lost[PlaceSoon]); lost != 1 {
		t.Errorf("%v places are lost", lost)
	}
	w.mu.Lock()
	if w.ids = slices.Compact(w.ids); len(w.ids) != 1 {
		t.Errorf("ids %v", w.ids)
	}
	w.mu.Unlock()
	w.answers(nil)
	w.aside = nil
	w.run(t, time.Second, one)
	next := w.silence(101)
	w.run(t, 12*time.Second, one)
	w.expect(t, "the next", places(PlaceSoon, next))
}

// TestAwayForTenMinutes: meanwhile a place is set aside each second. Once the receiver is back, each is told once, five minutes later at
// the latest.
func TestAwayForTenMinutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t)
	one.runOnce(t.Context())
	w.soon = 1_000_000_000
	w.answers(func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) })
	var want []string
	for i := range int64(600) {
		want = append(want, w.silence(100+i))
		w.run(t, time.Second, one)
	}
	tries := strings.Count(w.took(), PlaceSoon)
	w.answers(nil)
	back, told := w.now, ""
	for !strings.Contains(told, want[599]) && w.now.Sub(back) < maxPause {
		w.run(t, time.Second, one)
		told += w.took()
	}
	t.Logf("%d tries in ten minutes; all are told %v after the receiver is back, in %d calls", tries, w.now.Sub(back), strings.Count(told, PlaceSoon))
	for _, id := range want {
		if n := strings.Count(told, id); n != 1 {
			t.Errorf("%s is told %d times", id, n)
		}
	}
}

// TestOneDoesNotHoldOthers: the receiver refuses what is of one zone. Others are told, and the calls that wait are bounded.
func TestOneDoesNotHoldOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := zone.Defaults("BAD")
	w.settings = append([]*zone.Settings{&bad}, w.settings...)
	one := w.server(t)
	one.runOnce(t.Context())
	w.answers(func(rw http.ResponseWriter, _ int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if strings.Contains(w.calls[len(w.calls)-1], "BAD") {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	w.forward(time.Second)
	near := w.silence(100)
	w.run(t, 6*time.Second, one)
	if got := w.took(); strings.Count(got, places(PlaceSoon, near)) != 1 || !strings.Contains(got, "BAD") {
		t.Errorf("the receiver took\n%s", got)
	}
	one.bytes += maxPending
	looks := w.looks
	w.silence(101)
	if w.run(t, 20*time.Second, one); w.looks != looks {
		t.Error("the store was asked for more calls than may wait")
	}
}

// TestLostWrites: the reply of a write is lost, or the store loses a write, or the whole document. The server goes on.
func TestLostWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.server(t), w.server(t)
	w.run(t, time.Second, one, two)
	before := w.document
	w.silence(100)
	w.run(t, 6*time.Second, one, two)
	w.took()
	for i, d := range []line.Document{before, {}, {Version: 99, Text: w.document.Text}} {
		w.document = d
		w.silence(101 + int64(i))
		w.run(t, 2*renewEvery, one, two)
		if n := strings.Count(w.took(), PlaceSoon); n != 1 || !one.working || two.working {
			t.Errorf("%d: %d calls, working: %v and %v", i, n, one.working, two.working)
		}
	}
}

// TestStop: another server goes on at once.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.server(t), w.server(t)
	w.run(t, time.Second, one, two)
	(&Sender{workers: []*worker{one}}).Stop(t.Context())
	if w.run(t, time.Second, two); !two.working {
		t.Error("no server works")
	}
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
	one.hook.URL = strings.Replace(w.URL, "127.0.0.1", "localhost", 1)
	if err := one.hook.send(t.Context(), one.client, "msg_1", w.now, nil); !errors.Is(err, errAddress) {
		t.Errorf("a name of the loopback: %v", err)
	}
	for address, may := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700::1]:443": true, "10.1.2.3:443": false, "169.254.169.254:80": false, "[::ffff:127.0.0.1]:443": false,
		"[fd00::1]:443": false, "[64:ff9b::7f00:1]:443": false, "[::7f00:1]:443": false, "100.64.0.1:443": false, "0.0.0.0:443": false, "[fe80::1%eth0]:443": false,
	} {
		if got := one.hook.mayDial(address) == nil; got != may {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// TestTLS: a receiver whose certificate no authority has signed gets nothing.
func TestTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t)
	client := newClient(one.hook, nil)
	defer client.CloseIdleConnections()
	if err := one.hook.send(t.Context(), client, "msg_1", w.now, nil); err == nil || w.took() != "" {
		t.Errorf("%v", err)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	good := "- name: shop\n  url: https://shop.example/x\n  secret: whsec_" + base64.StdEncoding.EncodeToString(secret) + "\n  events: [place.soon]\n"
	if all, err := Parse("f", []byte(good)); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for from, to := range map[string]string{
		"https:": "http:", "name: shop": "name: Shop", "whsec_": "", "[place.soon]": "[place.now]", "events": "event", "x\n": "x\n  privateNetworks: [x]\n",
		"shop.example": "u:p@shop.example", "- name": "name",
	} {
		_, err := Parse("f", []byte(strings.Replace(good, from, to, 1)))
		if err == nil || strings.Contains(err.Error(), "MDEy") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := Parse("f", []byte(good+good)); err == nil {
		t.Error("a name is there twice")
	}
}

// BenchmarkTell tells 100,000 places that were set aside: an hour's, or those of a rush. The receiver is in the same process.
func BenchmarkTell(b *testing.B) {
	const n = 100_000
	w := newWorld(b)
	w.hook.Events = []string{PlaceTurn}
	one := w.server(b)
	one.runOnce(b.Context())
	w.forward(time.Second)
	for i := range int64(n) {
		w.silence(i)
	}
	w.stats.State.EdgeMicros = n * 1_000_000
	text, edge := w.document, w.stats.State.EdgeMicros
	for b.Loop() {
		w.document, one.working, one.zones, one.since = text, false, nil, time.Time{}
		w.stats.State.EdgeMicros = edge
		for told := 0; told < n; told += mostCalls * mostPlaces {
			w.forward(time.Second)
			one.Alone = true
			one.runOnce(b.Context())
			w.forward(lookEvery)
		}
		if calls := strings.Count(w.took(), PlaceTurn); calls != n/mostPlaces {
			b.Fatalf("%d calls", calls)
		}
		w.stats.State.NowMillis -= (w.now.UnixMilli() - 100_000_000) // so that the places are kept
		w.now = time.UnixMilli(100_000_000)
		w.forward(time.Second)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/place")
}
