package limit_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/limit"
)

// TestMiddlewareInEcho: echo takes the middleware as it is.
func TestMiddlewareInEcho(t *testing.T) {
	t.Parallel()
	l := open(t, limit.Options{Policies: []limit.Policy{fiveASecond}})
	e := echo.New()
	e.Use(echo.WrapMiddleware(l.Middleware("api", func(*http.Request) (key, tier string) { return "a", "" }, limit.Cost(func(*http.Request) int64 { return 5 }))))
	e.GET("/orders", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	for _, want := range []int{http.StatusNoContent, http.StatusTooManyRequests} {
		if w := serve(e, http.MethodGet); w.Code != want || w.Header().Get("RateLimit-Policy") == "" {
			t.Errorf("%d %v, want %d", w.Code, w.Header(), want)
		}
	}
}
