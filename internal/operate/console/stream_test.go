package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/watch"
)

// patience bounds what happens at once, on a machine that does ten other things.
const patience = 30 * time.Second

// stream is an open stream of events.
type stream struct {
	t    *testing.T
	read *bufio.Reader
}

// open opens a stream below /console/ on a real listener.
func (p *person) open(t *testing.T, url, path string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/console/"+path, nil)
	parts.Must(t, err)
	for name, value := range p.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	parts.Must(t, err)
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%s: %d %s", path, res.StatusCode, got)
	}
	t.Cleanup(func() {
		cancel()
		_ = res.Body.Close() // it may have been cut off
	})
	return &stream{t: t, read: bufio.NewReader(res.Body)}
}

// next returns the fields of the next event, io.EOF at the end.
func (s *stream) next() (map[string]string, error) {
	event := map[string]string{}
	for {
		text, err := s.read.ReadString('\n')
		if err != nil {
			return nil, err
		}
		text = strings.TrimSuffix(text, "\n")
		if text == "" {
			return event, nil
		}
		name, value, _ := strings.Cut(text, ": ")
		event[name] = value
	}
}

// wants reads an event of that name.
func (s *stream) wants(name string) map[string]any {
	s.t.Helper()
	event, err := s.next()
	if err != nil || event["event"] != name {
		s.t.Fatalf("got %v %v, want %s", event, err, name)
	}
	var data map[string]any
	parts.Must(s.t, json.Unmarshal([]byte(event["data"]), &data))
	return data
}

func (s *stream) ends() {
	s.t.Helper()
	if event, err := s.next(); !errors.Is(err, io.EOF) {
		s.t.Errorf("got %v %v, want the end", event, err)
	}
}

// listening is the room on a listener.
func (r *room) listening(t *testing.T) string {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server := httptest.NewUnstartedServer(r.http)
	server.Config.WriteTimeout = time.Nanosecond // a stream sets its own
	server.Start()
	t.Cleanup(func() {
		server.Close()
		goleak.VerifyNone(t, before)
	})
	return server.URL
}

func figureIn(event map[string]any, key string) any {
	texts, _ := event["texts"].(map[string]any)
	return texts[key]
}

func TestZoneEvents(t *testing.T) {
	r := newRoom(t)
	r.put("Z")
	address := r.listening(t)
	p := r.enter("Anna")
	s := p.open(t, address, "zones/Z/events")
	if event, err := s.next(); err != nil || event["retry"] != "1000" {
		t.Fatalf("first: %v %v", event, err)
	}
	if got := figureIn(s.wants("figures"), "waiting"); got != "–" {
		t.Errorf("before the first sample: %v", got)
	}
	r.seen.round(map[string]watch.Sample{"Z": sample(start)})
	event := s.wants("figures")
	for key, want := range map[string]string{
		"waiting": "12,340", "released": "150", "overdue": "3", "window": "58", "window.note": "of 60 in any 6 s",
		"minute": "597", "minute.note": "of 600 in any 60 s", "use": "97 %", "joins": "812", "departures": "4.0", "swept": "21",
		"p50": "1 min 01 s", "p95": "1 min 35 s", "estimate": "20 min 34 s", "estimate.note": "18 min to 25 min, for one who joins now", "polls": "1,370", "store": "answers", "limit": "600",
	} {
		if got := figureIn(event, key); got != want {
			t.Errorf("%s: %v, want %s", key, got, want)
		}
	}
	point, _ := event["point"].([]any)
	if len(point) != 10 || point[0] != float64(start.Unix()) || point[1] != 12340.0 || point[6] != 1234.0 {
		t.Errorf("point: %v", point)
	}

	away := watch.Sample{At: start.Add(9 * time.Second).UnixMilli(), Store: watch.StoreFailing, FailingSince: start.UnixMilli()}
	r.seen.round(map[string]watch.Sample{"Z": away})
	event = s.wants("figures")
	if figureIn(event, "waiting") != "–" || figureIn(event, "store") != "away" || figureIn(event, "store.note") != "for 10 s" {
		t.Errorf("store away: %v", event)
	}

	stamp := event["stamp"]
	p.confirm(t, "maxWaiting=5")
	r.seen.round(nil)
	if event = s.wants("figures"); event["stamp"] == stamp {
		t.Error("the stamp is the same after a change")
	}
	p.post("zones/Z/delete", url.Values{"confirm": {"Z"}})
	r.seen.round(nil)
	s.wants("gone")
	s.ends()
}

func TestAllZonesEvents(t *testing.T) {
	r := newRoom(t)
	r.put("A")
	r.put("B")
	p := r.enter("Anna")
	s := p.open(t, r.listening(t), "events")
	_, err := s.next()
	parts.Must(t, err)
	s.wants("figures")
	shows(t, p.get(""), "Waiting – in all lines together", "Admitted – in the last 60 s", "Store not known yet")
	away := watch.Sample{At: start.UnixMilli(), Store: watch.StoreFailing, FailingSince: start.UnixMilli()}
	r.seen.round(map[string]watch.Sample{"A": sample(start), "B": away})
	event := s.wants("figures")
	zones, _ := event["rows"].([]any)
	if len(zones) != 2 || figureIn(event, "zones") != "2" || figureIn(event, "all.waiting") != "12,340" ||
		figureIn(event, "all.admitted") != "597" || figureIn(event, "all.store.note") != "for 1 of 2 zones" {
		t.Fatalf("got %v", event)
	}
	first, _ := zones[0].(map[string]any)
	if first["id"] != "A" || figureIn(first, "waiting") != "12,340" || figureIn(first, "estimate") != "20 min 34 s" {
		t.Errorf("A: %v", first)
	}
	stamp := event["stamp"]
	r.put("C")
	r.seen.round(nil)
	if event := s.wants("figures"); event["stamp"] == stamp {
		t.Error("the stamp is the same with another zone")
	}
}

func TestStreamsEnd(t *testing.T) {
	for name, end := range map[string]func(*room, *person){
		"log out":   func(_ *room, p *person) { p.post("logout", nil) },
		"expiry":    func(r *room, _ *person) { r.Forward(13 * time.Hour) },
		"the drain": func(r *room, _ *person) { r.seen.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.put("Z")
			p := r.enter("Anna")
			s := p.open(t, r.listening(t), "zones/Z/events")
			_, err := s.next()
			parts.Must(t, err)
			s.wants("figures")
			end(r, p)
			if name != "the drain" {
				r.seen.round(nil)
				s.wants("logout")
			}
			s.ends()
		})
	}
}

func TestStreamsAreBounded(t *testing.T) {
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	ctx, cancel := context.WithCancel(t.Context())
	const most = 512
	each := make(chan struct{}, 2*most) // when to come back, and what is
	var open sync.WaitGroup
	for range most {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/zones/Z/events", nil)
		req.AddCookie(&http.Cookie{Name: "queue_console", Value: p.cookies["queue_console"]})
		open.Go(func() { r.http.ServeHTTP(&counted{httptest.NewRecorder(), each}, req) })
	}
	for range most {
		<-each
		<-each
	}
	w := p.get("zones/Z/events")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %v", w.Code, w.Header())
	}
	cancel()
	open.Wait()
	r.seen.stop()
	if w := p.get("zones/Z/events"); w.Code != http.StatusOK {
		t.Errorf("when the others have gone: %d", w.Code)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	for i := range 10 {
		s := sample(start.Add(time.Duration(i) * time.Second))
		s.Waiting = int64(i)
		if i == 4 {
			s = watch.Sample{At: s.At, Store: watch.StoreFailing, FailingSince: s.At}
		}
		r.seen.round(map[string]watch.Sample{"Z": s})
	}
	var got struct {
		Names  []string     `json:"names"`
		Points [][]*float64 `json:"points"`
	}
	parts.Must(t, json.Unmarshal(p.get("zones/Z/history").Body.Bytes(), &got))
	if len(got.Names) != 10 || len(got.Points) != 10 || got.Names[1] != "waiting" || len(got.Points[1]) != 10 ||
		*got.Points[9][0] != float64(start.Unix()+9) || *got.Points[9][1] != 9 || got.Points[4][1] != nil {
		t.Errorf("got %+v", got)
	}
	w := p.get("zones/Z/history?after=" + "1795262347")
	parts.Must(t, json.Unmarshal(w.Body.Bytes(), &got))
	if start.Unix() != 1795262340 || len(got.Points) != 2 {
		t.Errorf("after the 8th of %d: %d points", start.Unix(), len(got.Points))
	}
	page := p.get("zones/Z")
	shows(t, page, "11:59 UTC 9 58 60 1 min 01 s 1 min 35 s 20 min 34 s 1,370")
}

// counted is a browser that reads at once.
type counted struct {
	*httptest.ResponseRecorder
	each chan struct{}
}

func (c *counted) Write(p []byte) (int, error) {
	c.each <- struct{}{}
	return len(p), nil
}
