package fault

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// otherSecret and newSecret are secrets that other servers do not have.
const (
	otherSecret = "YW5vdGhlci1zZWNyZXQtdGhhbi10aGUtb3RoZXItc2VydmVyLTE="
	newSecret   = "dGhlLXNlY3JldC1vZi10aGUtbmV4dC1yb3VuZC1vZi1hbGwtMDE="
)

// TestRotationKeepsPlaces: a server with another secret than those on its Redis is not ready, and says why. In the
// documented rounds, with two servers that are replaced one after the other, every server is ready and every token good
// on both.
func TestRotationKeepsPlaces(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	servers := []*room.Server{startServer(t, e.URL(), nil), startServer(t, e.URL(), nil)}
	z := busy("BUSY")
	z.PerMinute = 0
	servers[0].Put(t, z, servers[1])
	stranger := room.New(t, settings(e.URL(), map[string]string{"QUEUE_SECRET": otherSecret}))
	stranger.Launch(t)
	room.Await(t, "the stranger says why it is not ready", func() bool {
		r := room.Request(t, http.MethodGet, stranger.Public+"/readyz", "")
		return r.Status == http.StatusServiceUnavailable && strings.Contains(r.Body, "QUEUE_SECRET")
	})
	stranger.Stop(t)
	web := newBalancer(servers...)
	t.Cleanup(web.close)
	var all []room.Answer
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
