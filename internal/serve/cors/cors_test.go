package cors_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/serve/cors"
)

const (
	shop = "https://shop.example"
	// preflightVary is the header Vary of an answer to a preflight.
	preflightVary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
)

// asked is a handler that notes that it was called, and answers with a problem.
type asked struct{ times int }

func (a *asked) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.times++
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

func policy(t *testing.T, origins ...string) *cors.Policy {
	t.Helper()
	p, err := cors.New(origins)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHandler(t *testing.T) {
	t.Parallel()
	both := []string{shop, "capacitor://localhost"}
	tests := []struct {
		name    string
		allowed []string
		method  string
		origin  string
		asks    bool // Access-Control-Request-Method
		want    int
		allow   string
		vary    string
	}{
		{"no other site", both, "POST", "", false, 503, "", "Origin"},
		{"an allowed one", both, "POST", shop, false, 503, shop, "Origin"},
		{"an app's", both, "POST", "capacitor://localhost", false, 503, "capacitor://localhost", "Origin"},
		{"another one", both, "POST", "https://evil.example", false, 503, "", "Origin"},
		{"one that begins so", both, "POST", shop + ".evil.example", false, 503, "", "Origin"},
		{"another scheme", both, "POST", "http://shop.example", false, 503, "", "Origin"},
		{"no site's", both, "POST", "null", false, 503, "", "Origin"},
		{"preflight", both, "OPTIONS", shop, true, 204, shop, preflightVary},
		{"preflight of another", both, "OPTIONS", "https://evil.example", true, 204, "", preflightVary},
		{"options without the question", both, "OPTIONS", shop, false, 503, shop, "Origin"},
		{"all", []string{"*"}, "POST", "https://evil.example", false, 503, "*", "Origin"},
		{"all, and no site", []string{"*"}, "POST", "", false, 503, "", "Origin"},
		{"preflight of all", []string{"*"}, "OPTIONS", "https://evil.example", true, 204, "*", preflightVary},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			next := &asked{}
			req := httptest.NewRequest(tt.method, "/traffic/entry", http.NoBody)
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			if tt.asks {
				req.Header.Set("Access-Control-Request-Method", "POST")
				req.Header.Set("Access-Control-Request-Headers", "content-type,if-none-match")
			}
			w := httptest.NewRecorder()
			policy(t, tt.allowed...).Handler(next).ServeHTTP(w, req)
			h := w.Header()
			if w.Code != tt.want || (next.times == 1) != (tt.want == 503) || h.Get("Vary") != tt.vary ||
				h.Get("Access-Control-Allow-Origin") != tt.allow || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("got %d %v", w.Code, h)
			}
			for name, want := range map[string]bool{
				"Access-Control-Expose-Headers": tt.allow != "" && tt.want == 503,
				"Access-Control-Allow-Methods":  tt.allow != "" && tt.want == 204,
				"Access-Control-Allow-Headers":  tt.allow != "" && tt.want == 204,
				"Access-Control-Max-Age":        tt.allow != "" && tt.want == 204,
			} {
				if (h.Get(name) != "") != want {
					t.Errorf("%s is %q", name, h.Get(name))
				}
			}
			if exposed := h.Get("Access-Control-Expose-Headers"); exposed != "" && !strings.Contains(exposed, "Retry-After") {
				t.Errorf("a page may read %s", exposed)
			}
		})
	}
}

// A policy that allows no site adds no header.
func TestHandlerOfNothing(t *testing.T) {
	t.Parallel()
	next := &asked{}
	if got := policy(t).Handler(next); got != http.Handler(next) {
		t.Errorf("got %T", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []string{
		"shop.example", "", "null", "https://*.shop.example", "https://", "https://a b", "https://shop.example/", "https://shop.example/path",
		"https://me@shop.example", "https://Shop.example", "https://shop.example:443", "http://shop.example:80",
	} {
		if _, err := cors.New([]string{shop, o}); !errors.Is(err, cors.ErrInvalid) || !strings.Contains(err.Error(), "is no origin; write https://shop.example") {
			t.Errorf("%q: %v", o, err)
		}
	}
	if _, err := cors.New([]string{"*", shop}); !errors.Is(err, cors.ErrInvalid) {
		t.Errorf("all, and one: %v", err)
	}
}

// A preflight for a method or header that no page may use gets no permission.
func TestPreflightOfWhatNobodyMay(t *testing.T) {
	t.Parallel()
	for _, asks := range [][2]string{{"DELETE", "content-type"}, {"POST", "authorization"}, {"POST", "x-clock"}} {
		req := httptest.NewRequest(http.MethodOptions, "/traffic/entry", http.NoBody)
		req.Header.Set("Origin", shop)
		req.Header.Set("Access-Control-Request-Method", asks[0])
		req.Header.Set("Access-Control-Request-Headers", asks[1])
		w := httptest.NewRecorder()
		policy(t, shop).Handler(&asked{}).ServeHTTP(w, req)
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%v: allowed to %s", asks, got)
		}
	}
}
