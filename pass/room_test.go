package pass_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/line"
	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/pass"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testZone = "TEST_ZONE"
	keySet   = "http://queue.example/.well-known/jwks.json"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func secret(n int) []byte { return bytes.Repeat([]byte{byte(n)}, 32) }

// newSigner is the room's own, with the keys of these secrets, newest first.
func newSigner(tb testing.TB, secrets ...int) *signer.Signer {
	tb.Helper()
	var all [][]byte
	for _, n := range secrets {
		all = append(all, secret(n))
	}
	s, err := signer.NewSigner(signer.DefaultIssuer, all...)
	must(tb, err)
	return s
}

// grant is an admission of now, for five minutes.
func grant() signer.Grant {
	now := time.Now().UnixMilli()
	return signer.Grant{ZoneID: testZone, ID: line.ID{1, 2, 3, 4, 5, 6, 7, 8}, AdmittedAtMillis: now, ExpiresAtMillis: now + 300_000}
}

func issue(tb testing.TB, s *signer.Signer, change ...func(*signer.Grant)) string {
	tb.Helper()
	g := grant()
	for _, f := range change {
		f(&g)
	}
	p, err := s.Issue(g)
	must(tb, err)
	return p
}

// forge makes a pass of any header and claims, signed by the key of a secret as the room
// derives it.
func forge(tb testing.TB, n int, header map[string]any, change func(jwt.MapClaims)) string {
	tb.Helper()
	good, _, err := jwt.NewParser().ParseUnverified(issue(tb, newSigner(tb, n)), jwt.MapClaims{})
	must(tb, err)
	claims, ok := good.Claims.(jwt.MapClaims)
	if !ok {
		tb.Fatalf("%T", good.Claims)
	}
	for name, value := range header {
		good.Header[name] = value
		if value == nil {
			delete(good.Header, name)
		}
	}
	if change != nil {
		change(claims)
	}
	seed, err := hkdf.Key(sha256.New, secret(n), nil, "openqueue/waitingroom/v1 pass key", ed25519.SeedSize)
	must(tb, err)
	p, err := good.SignedString(ed25519.NewKeyFromSeed(seed))
	must(tb, err)
	return p
}

// room is a server of a key set, on pipes instead of sockets, so that the clock of
// testing/synctest goes on while it is waited for.
type room struct {
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  int
	client *http.Client
}

func newRoom(tb testing.TB, s *signer.Signer) *room {
	tb.Helper()
	r := &room{}
	r.publish(s)
	pipes := process.NewPipes()
	server := httptest.NewUnstartedServer(r)
	must(tb, server.Listener.Close())
	server.Listener = pipes
	server.Start()
	tb.Cleanup(server.Close)
	r.client = &http.Client{Transport: &http.Transport{DialContext: pipes.Dial, DisableKeepAlives: true}}
	return r
}

func (r *room) publish(s *signer.Signer) {
	r.say(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.JWKS()) })
}

func (r *room) say(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// away answers nothing but an error.
func (r *room) away() {
	r.say(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
}

// hang answers not at all, until the client has gone.
func (r *room) hang() { r.say(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }) }

func (r *room) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// ServeHTTP implements http.Handler.
func (r *room) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked++
	answer := r.answer
	r.mu.Unlock()
	answer(w, q)
}

// open opens a verifier for a room, and has what it begins end with the test.
func (r *room) open(t *testing.T, change ...func(*pass.Options)) *pass.Verifier {
	t.Helper()
	o := pass.Options{KeySet: keySet, HTTP: r.client}
	for _, f := range change {
		f(&o)
	}
	v, err := pass.Open(t.Context(), o)
	must(t, err)
	t.Cleanup(v.Close)
	return v
}

// refused wants a pass to be refused for this reason.
func refused(t *testing.T, v *pass.Verifier, p string, want error) {
	t.Helper()
	if got, err := v.Verify(t.Context(), testZone, p); !errors.Is(err, want) || got != (pass.Pass{}) {
		t.Errorf("%s: %+v, %v, want %v", p, got, err, want)
	}
}

// forged wants a pass to be refused by the room, too, whose secret is the first.
func forged(t *testing.T, v *pass.Verifier, p string) {
	t.Helper()
	refused(t, v, p, pass.ErrInvalid)
	if got, err := newSigner(t, 1).Verify(p, time.Now()); !errors.Is(err, signer.ErrInvalid) || got != (signer.Grant{}) {
		t.Errorf("%s: the room: %+v, %v", p, got, err)
	}
}

func accepted(t *testing.T, v *pass.Verifier, p string) {
	t.Helper()
	if _, err := v.Verify(t.Context(), testZone, p); err != nil {
		t.Errorf("%s: %v", p, err)
	}
}
