package console_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/console"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const token = "the-operators-token-of-tests"

// start is when the clock of a room begins.
var start = time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC)

// room is the console over an embedded store and the operators' real room, with
// a clock and samples that the test sets.
type room struct {
	*parts.Clock
	tb       testing.TB
	store    *parts.Store
	zones    *zones.Zones
	desk     *operator.Service
	shares   *network.Shares
	observed observed.Log
	seen     *sight
	// unkept is what the page says is not kept.
	unkept error
	meter  *parts.Meter
	logs   *bytes.Buffer
	http   http.Handler
	// policies are the policies of limits, decided what is seen of them.
	policies *policyset.Set
	decided  *decided
	people   *people.Registry
}

func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{Clock: parts.NewClock(), tb: tb, logs: &bytes.Buffer{}, meter: &parts.Meter{}}
	r.Set(start)
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	r.store, r.shares, r.seen = parts.OpenStore(tb, r.Now, log), network.New(nil, log, r.Now), newSight(r.Now)
	r.zones = zones.New(zones.Options{Store: r.store, Now: r.Now})
	tb.Cleanup(r.zones.Stop)
	r.people = people.New(people.Options{Store: r.store, Secrets: parts.Secrets(), Root: []string{token}, Logger: log, Now: r.Now})
	r.policies = policyset.New(policyset.SetOptions{Store: r.store, Use: func(limit.PolicySet) {}})
	r.desk = operator.New(operator.Options{Zones: r.zones, Watch: watch.New(watch.Options{Zones: r.zones}), Networks: r.shares, Observed: &r.observed, Pilots: steer.New(steer.Options{Zones: r.zones, Keep: time.Hour}), Keep: time.Hour, Policies: r.policies, People: r.people, Logger: log})
	r.decided = &decided{all: map[string]limiter.Stats{}}
	r.http = r.server(r.people, nil, nil)
	return r
}

// server is a console of the room; with a provider and a proxy, if they are named.
func (r *room) server(known *people.Registry, provider *login.Provider, proxy *login.Proxy) http.Handler {
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	return console.New(console.Parts{
		Access: operator.NewAccess(operator.AccessOptions{People: known, Proxy: proxy, Logger: log, Now: r.Now}), Provider: provider, LoginAge: time.Hour,
		Zones: r.desk, Watch: r.seen, Policies: r.policies, Decisions: r.decided,
		People: known, Secure: operator.Hosts{Names: []string{"queue.example"}}.Secure,
		Preview: func(w http.ResponseWriter, r *http.Request, s zone.Settings) error {
			_, err := io.WriteString(w, s.PageTitle+"|"+s.Message[zone.DefaultText]+"|"+r.Header.Get("Accept-Language"))
			return err
		},
		NotKept: func() error { return r.unkept },
		Meter:   r.meter, Logger: log, Now: r.Now,
	}).Handler()
}

// make makes a zone with these settings.
func (r *room) make(s zone.Settings, by string) {
	r.tb.Helper()
	_, err := r.zones.PutZone(r.tb.Context(), s, nil, audit.By{Name: by})
	parts.Must(r.tb, err)
}

// put makes a zone.
func (r *room) put(zoneID string) zone.Settings {
	r.tb.Helper()
	s := zone.Defaults(zoneID)
	r.make(s, "Olga")
	r.Forward(time.Second)
	return s
}

// zone is the zone as the store has it.
func (r *room) zone(zoneID string) zone.Settings {
	r.tb.Helper()
	s, err := r.store.Store.Zone(r.tb.Context(), zoneID)
	parts.Must(r.tb, err)
	return s
}

// refused counts the refusals by their codes since the last time.
func (r *room) refused() map[string]int {
	counts := map[string]int{}
	for _, seen := range r.meter.Seen() {
		counts[seen[strings.LastIndexByte(seen, ' ')+1:]]++
	}
	return counts
}

// person is a browser: it keeps the session's cookie.
type person struct {
	*room
	cookies map[string]string
	// host is the name that the browser asks for; another when it is "".
	host string
}

// enter logs somebody in.
func (r *room) enter(who string) *person {
	r.tb.Helper()
	p := &person{room: r, cookies: map[string]string{}}
	if w := p.post("login", url.Values{"who": {who}, "token": {token}}); w.Code != http.StatusSeeOther {
		r.tb.Fatalf("log in: %d %s", w.Code, w.Body)
	}
	return p
}

func (p *person) send(req *http.Request, header ...string) *httptest.ResponseRecorder {
	req.Header.Set("Accept", "text/html,*/*;q=0.8")
	req.Host = cmp.Or(p.host, req.Host)
	for name, value := range p.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.http.ServeHTTP(w, req)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(p.cookies, c.Name)
		} else {
			p.cookies[c.Name] = c.Value
		}
	}
	return w
}

// get asks for a page below /console/.
func (p *person) get(path string, header ...string) *httptest.ResponseRecorder {
	return p.send(httptest.NewRequest(http.MethodGet, "/console/"+path, nil), header...)
}

// post sends a form to a path below /console/.
func (p *person) post(path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/console/"+path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.send(req, header...)
}

// shows wants a page to have all of these texts, where a tag or a run of blanks
// counts as one blank.
func shows(t *testing.T, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	plain := words(w.Body.String())
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			t.Errorf("the page does not say %q; it says\n%s", text, plain)
		}
	}
}

func words(page string) string {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(page, "<")
		b.WriteString(text)
		if !found {
			break
		}
		_, page, _ = strings.Cut(rest, ">")
		b.WriteString(" ")
	}
	plain := strings.NewReplacer("&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&").Replace(b.String())
	return strings.Join(strings.Fields(plain), " ")
}

// sight is a watch whose rounds the test makes.
type sight struct {
	mu      sync.Mutex
	samples map[string][]watch.Sample
	tick    int64
	next    chan struct{}
	stopped bool
	// ahead is by how much the stores' clock is before the server's.
	ahead time.Duration
	now   func() time.Time
}

func (s *sight) Clock(string) (time.Time, bool) { return s.now().Add(s.ahead), true }

func newSight(now func() time.Time) *sight {
	return &sight{samples: map[string][]watch.Sample{}, next: make(chan struct{}), now: now}
}

// round adds a sample of each zone.
func (s *sight) round(samples map[string]watch.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for zoneID, sample := range samples {
		s.samples[zoneID] = append(s.samples[zoneID], sample)
	}
	s.tick++
	close(s.next)
	s.next = make(chan struct{})
}

func (s *sight) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	close(s.next)
}

func (s *sight) Latest(zoneID string) (watch.Sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.samples[zoneID]
	if len(all) == 0 {
		return watch.Sample{}, false
	}
	return all[len(all)-1], true
}

func (s *sight) History(zoneID string) []watch.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.samples[zoneID])
}

// decided is what became of those who asked, as the test says.
type decided struct {
	mu  sync.Mutex
	all map[string]limiter.Stats
}

func (d *decided) set(name string, s limiter.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[name] = s
}

func (d *decided) Stats(name string) (limiter.Stats, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.all[name]
	if !ok {
		return limiter.Stats{}, limiter.ErrPolicyUnknown
	}
	return s, nil
}

var errStopped = errors.New("stopped")

func (s *sight) Wait(ctx context.Context, after int64) (int64, error) {
	for {
		s.mu.Lock()
		tick, next, stopped := s.tick, s.next, s.stopped
		s.mu.Unlock()
		if stopped {
			return tick, errStopped
		}
		if tick > after {
			return tick, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return tick, ctx.Err()
		}
	}
}

// sample is a busy zone's.
func sample(at time.Time) watch.Sample {
	return watch.Sample{
		At: at.UnixMilli(), Store: watch.StoreOK, Waiting: 12_340, Released: 150, Overdue: 3,
		InWindow: 58, WindowLimit: 60, InMinute: 597, PerMinute: 600, Mode: zone.ModeQueue, Use: 0.967,
		RateSeconds: 60, JoinsPerMinute: 812.4, AdmittedPerMinute: 597, DeparturesPerMinute: 4, SweptPerMinute: 21,
		PollsPerSecond: 1370.2, WaitP50Millis: 61_000, WaitP95Millis: 95_000, WaitCount: 597,
		EstimateMillis: 1_234_000, EstimateLowMillis: 1_080_000, EstimateHighMillis: 1_500_000,
	}
}
