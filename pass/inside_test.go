package pass_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/pass"
)

// transport answers as a handler does, without a connection.
type transport struct{ http.Handler }

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.ServeHTTP(w, q)
	return w.Result(), nil
}

// TestInside: a service hears within five seconds what was revoked, goes on with that while the room is away, believes no other
// list, and tells who is inside and who is done.
func TestInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, other := newSigner(t, 1), newSigner(t, 2)
		z := zone.Defaults(testZone)
		var list atomic.Pointer[string] // what the room answers
		sign := func(s *signer.Signer, z zone.Settings) {
			text, err := s.Revoked(z, time.Now())
			must(t, err)
			list.Store(&text)
		}
		sign(s, z)
		var told []string
		mux := http.NewServeMux()
		mux.HandleFunc("GET /.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.JWKS()) })
		mux.HandleFunc("GET /.well-known/revoked", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("zone") != testZone {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = io.WriteString(w, *list.Load())
		})
		mux.HandleFunc("POST /site/"+testZone+"/{what}", func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				JTI string `json:"jti"`
			}
			must(t, json.NewDecoder(r.Body).Decode(&body))
			told = append(told, r.PathValue("what")+" "+body.JTI)
			w.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusBadRequest}[body.JTI != "wrong"])
		})
		v, err := pass.Open(t.Context(), pass.Options{KeySet: keySet, HTTP: &http.Client{Transport: transport{mux}}})
		must(t, err)
		defer v.Close()
		room := v.Inside(t.Context(), "http://queue.example", "http://gate.example", testZone)
		defer room.Close()
		verified := func(id byte) pass.Pass {
			p, err := v.Verify(t.Context(), testZone, issue(t, s, func(g *signer.Grant) { g.ID = line.ID{id} }))
			must(t, err)
			return p
		}
		one, two := verified(1), verified(2)
		hears := func(what string, want ...bool) {
			t.Helper()
			<-time.After(6 * time.Second) // in no real time
			if got := []bool{room.Revoked(one), room.Revoked(two)}; !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		hears("nothing was revoked", false, false)
		z.InsideState = z.InsideState.Revoke(one.ID)
		sign(s, z)
		hears("one was revoked", true, false)
		for _, bad := range []string{"", "nonsense", issue(t, s)} {
			list.Store(&bad)
			hears("what is no list", true, false)
		}
		sign(other, zone.Defaults(testZone))
		hears("a list of another room", true, false)
		sign(s, zone.Defaults("OTHER"))
		hears("a list of another zone", true, false)
		z.InsideState.RevokedUpToMillis = time.Now().UnixMilli()
		sign(s, z)
		hears("all were revoked", true, true)
		if later := verified(3); room.Revoked(later) {
			t.Error("a pass of later is revoked")
		}
		must(t, room.Here(t.Context(), one))
		must(t, room.Done(t.Context(), one))
		if err := room.Done(t.Context(), pass.Pass{ID: "wrong"}); err == nil {
			t.Error("a refusal is no error")
		}
		if want := []string{"here " + one.ID, "done " + one.ID, "done wrong"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
		if _, err := v.Verify(t.Context(), testZone, *list.Load()); err == nil {
			t.Error("the list is taken for a pass")
		}
	})
}
