package echopass_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/pass"
	"github.com/openqueue/waitingroom/pass/echopass"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room stands for the waiting room: a file of its keys in a folder, and a pass.
func room(folder string) (keys, good string, err error) {
	s, err := signer.NewSigner(signer.DefaultIssuer, bytes.Repeat([]byte{1}, 32))
	if err != nil {
		return "", "", err
	}
	keys = filepath.Join(folder, "jwks.json")
	if err := os.WriteFile(keys, s.JWKS(), 0o600); err != nil {
		return "", "", err
	}
	now := time.Now().UnixMilli()
	good, err = s.Issue(signer.Grant{ZoneID: "TEST_ZONE", AdmittedAtMillis: now, ExpiresAtMillis: now + 300_000})
	return keys, good, err
}

// TestMiddleware: what is refused is answered as by package pass; what is not goes on with
// its pass, and the handler's error is the handler's.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	keys, good, err := room(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	passes, err := pass.Open(t.Context(), pass.Options{KeySet: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer passes.Close()
	e := echo.New()
	e.Use(echopass.Middleware(passes, "TEST_ZONE", pass.Room("https://queue.example"), pass.Header("X-Pass")))
	e.GET("/", func(c echo.Context) error {
		p, ok := echopass.From(c)
		if !ok || p.Zone != "TEST_ZONE" {
			t.Errorf("let through with %+v", p)
		}
		return echo.NewHTTPError(http.StatusTeapot)
	})
	for _, tt := range []struct {
		name, value string
		status      int
		body        string
	}{
		{"X-Pass", good, http.StatusTeapot, ""},
		{"X-Pass", good + "x", http.StatusUnauthorized, `"code":"pass_invalid"`},
		{"Accept", "text/html", http.StatusFound, "https://queue.example/wait/TEST_ZONE?to="},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set(tt.name, tt.value)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%s %s: %d %s", tt.name, tt.value, w.Code, w.Body)
		}
	}
}

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	keys, good, err := room(folder)
	if err != nil {
		fmt.Println(err)
		return
	}

	passes, err := pass.Open(context.Background(), pass.Options{
		KeySet: keys, // or https://queue.example/.well-known/jwks.json
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer passes.Close()

	e := echo.New()
	e.Use(echopass.Middleware(passes, "TEST_ZONE", pass.Room("https://queue.example")))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "welcome") })

	for _, pass := range []string{"", "Bearer " + good} {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		request.Header.Set("Authorization", pass)
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, request)
		fmt.Println(answer.Code)
	}
	// Output:
	// 401
	// 200
}
