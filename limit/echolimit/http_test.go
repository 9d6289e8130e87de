package echolimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/limit"
	"github.com/openqueue/waitingroom/limit/echolimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB) *limit.Limiter {
	tb.Helper()
	l, err := limit.Open(tb.Context(), limit.Options{Policies: []limit.Policy{
		{Name: "api", Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 5, Window: time.Second}}},
		{Name: "even", Rules: []limit.Rule{{Algorithm: limit.LeakyBucket, Limit: 10, Window: time.Second, Burst: 9}}},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func ok(c echo.Context) error { return c.NoContent(http.StatusNoContent) }

// server has echo find the address of the connection.
func server(m echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	e.Any("/", ok, m)
	return e
}

func serve(e *echo.Echo, method string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	e := server(echolimit.Middleware(open(t), "api", echolimit.ByIP))
	for i := range 5 {
		w := serve(e, http.MethodGet, "X-Forwarded-For", fmt.Sprintf("1.1.1.%d", i))
		if w.Code != http.StatusNoContent || w.Header().Get("X-RateLimit-Limit") != "5" {
			t.Errorf("%d: %d %v", i, w.Code, w.Header())
		}
	}
	w := serve(e, http.MethodGet)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" ||
		w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), `"code":"rate_limited"`) {
		t.Errorf("the sixth: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := serve(e, http.MethodHead); w.Code != http.StatusTooManyRequests || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %q", w.Code, w.Body)
	}
}

func TestMiddlewareByAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	l := open(t)
	key := func(c echo.Context) (key, tier string) { return c.Request().Header.Get("Key"), "" }
	cost := func(r *http.Request) int64 { return int64(len(r.Header.Get("Cost"))) }
	e := server(echolimit.Middleware(l, "api", key, limit.Cost(cost)))
	var failed error
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		failed = err
		e.DefaultHTTPErrorHandler(err, c)
	}
	for i, tt := range []struct {
		key, cost string
		status    int
	}{
		{"a", "xxxxx", 204}, {"a", "x", 429}, {"b", "x", 204}, {"", "", 204}, {"c", "xxxxxx", 500},
	} {
		if w := serve(e, http.MethodGet, "Key", tt.key, "Cost", tt.cost); w.Code != tt.status {
			t.Errorf("%d: %d", i, w.Code)
		}
	}
	if !errors.Is(failed, limit.ErrCost) {
		t.Errorf("the handler was told %v", failed)
	}
}

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := server(echolimit.Middleware(open(t), "even", echolimit.ByIP, limit.MaxWait(50*time.Millisecond)))
		serve(e, http.MethodGet)
		begun := time.Now()
		if w := serve(e, http.MethodGet); w.Code != http.StatusNoContent || time.Since(begun) != 50*time.Millisecond {
			t.Errorf("%d after %v", w.Code, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		w := httptest.NewRecorder()
		if e.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one who hung up was answered %d", w.Code)
		}
	})
}

func Example() {
	limits, err := limit.Open(context.Background(), limit.Options{Policies: []limit.Policy{{
		Name:  "api",
		Rules: []limit.Rule{{Algorithm: limit.SlidingCounter, Limit: 2, Window: time.Minute}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limits.Close() }()

	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect() // or ExtractIPFromXFFHeader, behind proxies
	e.Use(echolimit.Middleware(limits, "api", echolimit.ByIP))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "hello") })

	for range 3 {
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		fmt.Println(answer.Code, answer.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// 200 1
	// 200 0
	// 429 0
}
