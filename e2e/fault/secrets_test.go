package fault

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// otherSecret and newSecret are secrets that other servers do not have.
const (
	otherSecret = "YW5vdGhlci1zZWNyZXQtdGhhbi10aGUtb3RoZXItc2VydmVyLTE="
	newSecret   = "dGhlLXNlY3JldC1vZi10aGUtbmV4dC1yb3VuZC1vZi1hbGwtMDE="
)

// saysUnready reports whether /readyz answers 503 and this.
func saysUnready(t *testing.T, s *room.Server, text string) bool {
	t.Helper()
	r := room.Request(t, http.MethodGet, s.Public+"/readyz", "")
	return r.Status == http.StatusServiceUnavailable && strings.Contains(r.Body, text)
}

// wantUnavailable wants refusals after which a visitor keeps its place.
func wantUnavailable(t *testing.T, calls ...error) {
	t.Helper()
	for _, err := range calls {
		if r := (*refusal)(nil); !errors.As(err, &r) || r.code != codeUnavailable {
			t.Fatalf("%v, want %s", err, codeUnavailable)
		}
	}
}

// TestOtherSecrets: of two servers on one Redis whose secrets differ, the one that
// came later is not ready, says why, and does not call good tokens invalid. The other
// goes on. When that one is gone, the one that waited serves.
func TestOtherSecrets(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	first := room.New(t, settings(e.URL(), nil))
	first.Launch(t)
	first.AwaitReady(t)
	first.Put(t, busy("BUSY"))
	stranger := room.New(t, settings(e.URL(), map[string]string{"QUEUE_SECRET": otherSecret}))
	stranger.Launch(t)
	room.Await(t, "the stranger says why it is not ready", func() bool { return saysUnready(t, stranger, "QUEUE_SECRET") })

	there, here := newBalancer(stranger), newBalancer(first)
	t.Cleanup(there.close)
	t.Cleanup(here.close)
	place, err := here.join(t.Context(), "BUSY", "a")
	if err != nil {
		t.Fatal(err)
	}
	_, joined := there.join(t.Context(), "BUSY", "a")
	_, polled := there.poll(t.Context(), "BUSY", place.Token)
	wantUnavailable(t, joined, polled)
	if _, err := here.poll(t.Context(), "BUSY", place.Token); err != nil || !first.Ready() {
		t.Errorf("the server that was first: ready %t, %v", first.Ready(), err)
	}
	for s, want := range map[*room.Server]string{first: "queue_secrets_differ 0", stranger: "queue_secrets_differ 1"} {
		if got := room.Request(t, http.MethodGet, s.Operators+"/metrics", ""); !strings.Contains(got.Body, want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
	if n := strings.Count(stranger.Output(), "other servers of the store have other secrets"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
	first.Kill() // so that it does not say that it leaves
	stranger.AwaitReady(t)
	stranger.Stop(t)
}

// TestRotationKeepsPlaces: in the documented rounds, with two servers that are
// replaced one after the other, every server is ready and every token good on both.
func TestRotationKeepsPlaces(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	servers := []*room.Server{startServer(t, e.URL(), nil), startServer(t, e.URL(), nil)}
	z := busy("BUSY")
	z.PerMinute = 0
	servers[0].Put(t, z, servers[1])
	web := newBalancer(servers...)
	t.Cleanup(web.close)
	var all []room.Told
	check := func() {
		t.Helper()
		a, err := web.join(t.Context(), "BUSY", rand.Text())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
		for i, was := range all {
			for range servers {
				a, err := web.poll(t.Context(), "BUSY", was.Token)
				if err != nil || a.Waiting.ArrivedAtMicros != was.Waiting.ArrivedAtMicros {
					t.Errorf("visitor %d of %d: %+v, %v", i+1, len(all), a, err)
				}
			}
		}
	}
	for _, round := range []string{room.Secret + "," + newSecret, newSecret + "," + room.Secret, newSecret} {
		if round == newSecret {
			all = nil // those of the old secret are no more, by then
		}
		for _, s := range servers {
			check()
			s.Stop(t)
			s.Set(map[string]string{"QUEUE_SECRET": round})
			s.Launch(t)
			s.AwaitReady(t)
			check()
		}
	}
}

// TestNewerData: what a newer version has written, a server does not serve, and says
// so. It does not take the store for one that is away, either: the newer servers let
// visitors in, and another share on top would be too many.
func TestNewerData(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := startServer(t, e.URL(), nil)
	z := busy("BUSY")
	z.OnStoreFailure = zone.FailureAdmit
	s.Put(t, z)
	web := newBalancer(s)
	t.Cleanup(web.close)
	place, err := web.join(t.Context(), "BUSY", "a")
	if err != nil || !place.CanEnter {
		t.Fatalf("%+v, %v", place, err)
	}
	format := e.do(t, "HGET", "{BUSY}:zone", "format")
	e.do(t, "HSET", "{BUSY}:zone", "format", "99")
	room.Await(t, "the server says why it is not ready", func() bool { return saysUnready(t, s, "newer version") })
	zoneData := func() []string { // Redis may change the order while nothing is written
		return slices.Sorted(strings.SplitSeq(e.do(t, "HGETALL", "{BUSY}:zone"), "\n"))
	}
	before := zoneData()
	long := after(5 * time.Second) // the store counts as away after 3
	room.Await(t, "visitors are refused for a while", func() bool {
		_, joined := web.join(t.Context(), "BUSY", "b")
		_, polled := web.poll(t.Context(), "BUSY", place.Token)
		wantUnavailable(t, joined, polled)
		return long()
	})
	if after := zoneData(); !slices.Equal(after, before) {
		t.Errorf("the zone was %s, and is %s", before, after)
	}
	if n := strings.Count(s.Output(), `"level":"ERROR"`); n != 1 || !strings.Contains(s.Output(), "zone BUSY has format 99") {
		t.Errorf("the log has %d errors, want one that names the zone and its format", n)
	}
	e.do(t, "HSET", "{BUSY}:zone", "format", format)
	s.AwaitReady(t)
	if a, err := web.poll(t.Context(), "BUSY", place.Token); err != nil || a.Admission.AdmittedAt != place.Admission.AdmittedAt {
		t.Errorf("%+v, %v, want %+v", a, err, place)
	}
}
