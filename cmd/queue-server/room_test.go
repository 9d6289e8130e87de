package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/gateway"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/metric"
	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/cors"
)

func TestReadyAsksTheStoreSeldomAndNotForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings := 0
		hang, fails := false, line.ErrStoreUnavailable
		h := newHealth(func(ctx context.Context) error {
			pings++
			if hang {
				<-ctx.Done()
				return line.ErrStoreUnavailable
			}
			return fails
		})
		if away, err := h.ready(t.Context()); away != nil || !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("ready = %v, %v before the store has ever answered", away, err)
		}
		<-time.After(readyMaxAge)
		fails = nil
		for range 100 {
			if away, err := h.ready(t.Context()); away != nil || err != nil {
				t.Fatal(away, err)
			}
		}
		if pings != 2 {
			t.Errorf("%d pings for 100 questions, want 1", pings-1)
		}

		<-time.After(readyMaxAge)
		hang = true
		begun := time.Now()
		gone, cancel := context.WithCancel(t.Context())
		cancel() // who asks has hung up; the next one gets the answer
		if _, err := h.ready(gone); err != nil {
			t.Error(err)
		}
		if away, err := h.ready(t.Context()); !errors.Is(away, line.ErrStoreUnavailable) || err != nil {
			t.Errorf("ready = %v, %v while the store is away", away, err)
		}
		if took := time.Since(begun); took != readyTimeout || pings != 3 {
			t.Errorf("took %v and %d pings, want %v and one more", took, pings, readyTimeout)
		}
		hang = false
		for _, fails = range []error{line.ErrSecrets, line.ErrFormat} {
			<-time.After(readyMaxAge)
			if away, err := h.ready(t.Context()); away != nil || !errors.Is(err, fails) {
				t.Errorf("ready = %v, %v, want %v", away, err, fails)
			}
		}

		h.drain()
		if _, err := h.ready(t.Context()); !errors.Is(err, errDraining) || pings != 5 {
			t.Errorf("ready = %v, want errDraining without a ping", err)
		}
	})
}

// testRooms have all but the rooms themselves.
func testRooms(t *testing.T, ping func(context.Context) error) (rooms, *bytes.Buffer) {
	t.Helper()
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	reg := prometheus.NewRegistry()
	metrics := metric.New(reg, metric.Options{Codes: refusal.Codes(), SiteAnswers: gateway.Outcomes})
	return rooms{
		health: newHealth(ping), registry: reg, log: log,
		meter: metrics, clientIP: address.Finder(nil), entrance: &entrance{},
	}, &text
}

// TestOtherSecretsOnThePage: a person is shown a page that comes again, with all that its address asks for, and takes no place.
func TestOtherSecretsOnThePage(t *testing.T) {
	r, _ := testRooms(t, nil)
	var err error
	if r.page, err = page.New(nil, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if r.origins, err = cors.New(nil); err != nil {
		t.Fatal(err)
	}
	r.secretsDiffer = func() error { return line.ErrSecrets }
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		rec := httptest.NewRecorder()
		openapitest.Public.Handler(t, r.public()).ServeHTTP(rec, httptest.NewRequest(method, "/wait/SHOP?to=/cart&again=1", nil))
		if h := rec.Header(); rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "Your place is kept") ||
			strings.Contains(rec.Body.String(), "<script") || h.Get("Refresh") == "" || h.Get("Retry-After") == "" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %q %v", method, rec.Code, rec.Body, h)
		}
	}
}

// TestOtherSecretsAtTheGate: those inside are not sent to the waiting page by a server that cannot read their sessions.
func TestOtherSecretsAtTheGate(t *testing.T) {
	r, _ := testRooms(t, nil)
	r.secretsDiffer = func() error { return line.ErrSecrets }
	h := openapitest.Site.Handler(t, r.siteGate())
	for _, path := range []string{"/site/SHOP", "/site/SHOP/cart", "/readyz"} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), `"store_unavailable"`) {
			t.Errorf("%s: %d %q", path, rec.Code, rec.Body)
		}
	}
}

// TestReadyWithoutTheStore: it is a problem until the store has answered once; while the server drains it is one all the same.
func TestReadyWithoutTheStore(t *testing.T) {
	answers := []error{line.ErrStoreUnavailable, nil, line.ErrStoreUnavailable}
	r, _ := testRooms(t, func(context.Context) error {
		err := answers[0]
		answers = answers[1:]
		return err
	})
	at := time.Now()
	r.health.now = func() time.Time { at = at.Add(readyMaxAge); return at }
	e := r.newEcho()
	e.GET("/readyz", r.ready)
	is := func(status int, text string) {
		t.Helper()
		rec := httptest.NewRecorder()
		openapitest.Public.Handler(t, e).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if told := rec.Header().Get("Retry-After") != ""; rec.Code != status || !strings.Contains(rec.Body.String(), text) || told != (status != http.StatusOK) {
			t.Errorf("%d %q %v, want %d and %q", rec.Code, rec.Body, rec.Header(), status, text)
		}
	}
	is(http.StatusServiceUnavailable, `"store_unavailable"`)
	is(http.StatusOK, "ready\n")
	is(http.StatusOK, "ready, without the store\n")
	r.health.drain()
	is(http.StatusServiceUnavailable, "service_unavailable")
}

func TestAPanicIsAnInternalErrorLoggedOnce(t *testing.T) {
	r, log := testRooms(t, nil)
	e := r.newEcho()
	e.GET("/boom", wrap(func(http.ResponseWriter, *http.Request) { panic("the reason") }))
	e.GET("/hang-up", wrap(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))

	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/boom", nil))
	if rec.Code != http.StatusInternalServerError || strings.Contains(rec.Body.String(), "the reason") {
		t.Errorf("%d %q", rec.Code, rec.Body)
	}
	if text := log.String(); strings.Count(text, "the reason") != 1 || !strings.Contains(text, "room_test.go") {
		t.Errorf("want the reason once, with the stack:\n%s", text)
	}

	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v, want ErrAbortHandler to pass", err)
		}
	}()
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/hang-up", nil))
}

// TestClientIP: what the settings trust is what package address, which has the other cases, is told.
func TestLoadKeys(t *testing.T) {
	secrets := [][]byte{[]byte("one secret, of 32 bytes or more!")}
	tests := []struct {
		name  string
		store string
		set   bool
		warns bool
		files int
	}{
		{"embedded, nothing set", storeEmbedded, false, false, 3},
		{"embedded, all set", storeEmbedded, true, false, 1},
		{"redis, nothing set", storeRedis, false, true, 2},
		{"redis, all set", storeRedis, true, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := checked{settings: settings{Store: tt.store, PassIssuer: pass.DefaultIssuer, DataDir: t.TempDir()}}
			if tt.set {
				s.secrets, s.adminToken = secrets, operatorToken
			}
			var text bytes.Buffer
			k, err := loadKeys(s, slog.New(slog.NewTextHandler(&text, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(text.String(), "QUEUE_SECRET IS NOT SET"); warned != tt.warns {
				t.Errorf("warned: %v, want %v", warned, tt.warns)
			}
			if k.adminToken == "" || strings.Contains(text.String(), k.adminToken) {
				t.Errorf("no operators' token, or it is in the log:\n%s", text.String())
			}
			path := filepath.Join(s.DataDir, "admin-token")
			if says := strings.Contains(text.String(), path); says == tt.set {
				t.Errorf("the log says where the token is: %v:\n%s", says, text.String())
			}
			if info, err := os.Stat(path); !tt.set && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("the token's file: %v, %v", info, err)
			}
			text.Reset()
			if same, err := loadKeys(s, slog.New(slog.NewTextHandler(&text, nil))); err != nil || same.adminToken != k.adminToken || strings.Contains(text.String(), path) {
				t.Errorf("at the next start: another token, or said again: %s, %v", text.String(), err)
			}
			s.adminToken = "off"
			if none, err := loadKeys(s, slog.New(slog.DiscardHandler)); err != nil || none.adminToken != "" {
				t.Errorf("off, and there is a root token: %v", err)
			}
			entries, err := os.ReadDir(s.DataDir)
			if err != nil || len(entries) != tt.files {
				t.Errorf("%d files in the data folder, want %d (%v)", len(entries), tt.files, err)
			}
		})
	}
}

func TestLoopback(t *testing.T) {
	for addr, is := range map[string]bool{
		"127.0.0.1:8081": true, "[::1]:8081": true, "0.0.0.0:8081": false, "[::]:8081": false, "192.0.2.1:8081": false,
	} {
		if got := isLoopback(addr); got != is {
			t.Errorf("%s: %v, want %v", addr, got, is)
		}
	}
}

// TestPlainText: without TLS, a server that other machines reach starts only where the operator allows it, and warns of it.
func TestPlainText(t *testing.T) {
	env := map[string]string{"QUEUE_ADDR": "127.0.0.1:0", "QUEUE_ADMIN_ADDR": "0.0.0.0:0", "QUEUE_DATA_DIR": t.TempDir()}
	got := runToEnd(t, env)
	if got.status != cli.ExitUsage || !strings.Contains(got.errOut, "QUEUE_ADMIN_PLAINTEXT=allow") {
		t.Errorf("beyond the loopback, without TLS: %+v", got)
	}
	env["QUEUE_ADMIN_PLAINTEXT"] = "allow"
	if s := start(t, env); !strings.Contains(s.log.text(), `"a listener can be reached from other machines","listener":"operators'"`) {
		t.Errorf("no warning:\n%s", s.log.text())
	}
}

// TestReadyThoughNobodyAsked: a server that no balancer asked while the store was there is ready when it is away.
func TestReadyThoughNobodyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Bool
		h := newHealth(func(context.Context) error {
			if there.Load() {
				return nil
			}
			return line.ErrStoreUnavailable
		})
		done := make(chan struct{})
		go func() { h.awaitStore(t.Context()); close(done) }()
		<-time.After(3 * time.Second)
		there.Store(true)
		<-done
		there.Store(false)
		<-time.After(time.Minute)
		if away, err := h.ready(t.Context()); away == nil || err != nil {
			t.Errorf("ready = %v, %v, want the store away and the server ready", away, err)
		}
	})
}
