package console_test

import (
	"bytes"
	"context"
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

	"github.com/openqueue/waitingroom/internal/console"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

const secret = "the-operators-token-of-tests"

// fake is a list of zones with a record, until the real one is there.
type fake struct {
	mu      sync.Mutex
	zones   map[string]zone.Settings
	changes []zone.Change
	now     func() time.Time
}

func (f *fake) List(context.Context) ([]zone.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []zone.Settings
	for _, s := range f.zones {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b zone.Settings) int { return strings.Compare(a.ZoneID, b.ZoneID) })
	return all, nil
}

func (f *fake) Get(_ context.Context, id string) (zone.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.zones[id]
	if !ok {
		return s, line.ErrZoneUnknown
	}
	return s, nil
}

func (f *fake) Create(_ context.Context, s zone.Settings, by string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.zones[s.ZoneID]; ok {
		return line.ErrZoneChanged
	}
	f.zones[s.ZoneID] = s
	f.changes = append([]zone.Change{{AtMillis: f.now().UnixMilli(), ZoneID: s.ZoneID, By: by, Now: &s}}, f.changes...)
	return nil
}

func (f *fake) Replace(_ context.Context, was, now zone.Settings, by string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zones[was.ZoneID] != was {
		return line.ErrZoneChanged
	}
	f.zones[was.ZoneID] = now
	f.changes = append([]zone.Change{{AtMillis: f.now().UnixMilli(), ZoneID: was.ZoneID, By: by, Was: &was, Now: &now}}, f.changes...)
	return nil
}

func (f *fake) Delete(_ context.Context, id, by string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.zones[id]
	if !ok {
		return line.ErrZoneUnknown
	}
	delete(f.zones, id)
	f.changes = append([]zone.Change{{AtMillis: f.now().UnixMilli(), ZoneID: id, By: by, Was: &s}}, f.changes...)
	return nil
}

func (f *fake) Changes(_ context.Context, id string, limit int) ([]zone.Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []zone.Change
	for _, c := range f.changes {
		if id == "" || c.ZoneID == id {
			all = append(all, c)
		}
	}
	return all[:min(limit, len(all))], nil
}

type fakeWatch struct {
	samples map[string][]watch.Sample
}

func (f *fakeWatch) Latest(id string) (watch.Sample, bool) {
	all := f.samples[id]
	if len(all) == 0 {
		return watch.Sample{}, false
	}
	return all[len(all)-1], true
}
func (f *fakeWatch) History(id string) []watch.Sample { return f.samples[id] }
func (f *fakeWatch) Wait(ctx context.Context, after int64) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Second):
		return after + 1, nil
	}
}

type deaf struct{}

func (deaf) Refuse(string, string) {}

func TestScratch(t *testing.T) {
	f := &fake{zones: map[string]zone.Settings{}, now: time.Now}
	w := &fakeWatch{samples: map[string][]watch.Sample{}}
	c, err := console.New(console.Options{Zones: f, Watch: w, Token: secret, Secrets: [][]byte{[]byte("one secret, of 32 bytes or more!")}, Meter: deaf{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c.Handler())
	defer srv.Close()
	s := zone.Defaults("SHOP")
	_ = f.Create(t.Context(), s, "Anna")
	n := s
	n.PerMinute = 900
	_ = f.Replace(t.Context(), s, n, "Bea")
	w.samples["SHOP"] = []watch.Sample{{At: time.Now().UnixMilli(), Store: "ok", Waiting: 12340, Released: 150, InWindow: 88, WindowLimit: 90, InMinute: 897, PerMinute: 900, Mode: "queue", Use: .97, RateSeconds: 60, EstimateMillis: 820000}}
	client := srv.Client()
	jar := map[string]string{}
	do := func(method, path string, form url.Values) {
		var body io.Reader
		if form != nil {
			body = strings.NewReader(form.Encode())
		}
		req, _ := http.NewRequestWithContext(t.Context(), method, srv.URL+path, body)
		if form != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		req.Header.Set("Accept", "text/html")
		for k, v := range jar {
			req.AddCookie(&http.Cookie{Name: k, Value: v})
		}
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range res.Cookies() {
			jar[k.Name] = k.Value
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		t.Logf("%s %s: %d %s\n%s", method, path, res.StatusCode, res.Header.Get("Location"), bytes.TrimSpace(text))
	}
	do("GET", "/console/zones/SHOP", nil)
	do("GET", "/console/login", nil)
	do("POST", "/console/login", url.Values{"who": {"Anna"}, "token": {"x"}})
	do("POST", "/console/login", url.Values{"who": {"Anna"}, "token": {secret}})
	for _, p := range []string{"/console/", "/console/zones/SHOP", "/console/zones/SHOP/change?perMinute=1800", "/console/zones/SHOP/delete", "/console/new", "/console/changes", "/console/zones/NONE", "/console/x"} {
		do("GET", p, nil)
	}
	do("POST", "/console/zones/SHOP/change", url.Values{"was.perMinute": {"900"}, "perMinute": {"700"}})
	do("POST", "/console/zones/SHOP/change", url.Values{"was.perMinute": {"900"}, "perMinute": {"700"}})
}
