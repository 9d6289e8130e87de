// Package echolimit is the middleware of package limit for echo v4.
package echolimit

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/limit"
)

// KeyFunc says who asks, and in which tier, or "" for none. A request whose key is
// "" is not limited.
type KeyFunc func(c echo.Context) (key, tier string)

// ByIP counts by the client's address as echo finds it, of IPv6 by the network of 64
// bits. Set the IPExtractor of your Echo: without one, echo believes every
// X-Forwarded-For, and clients choose their own key.
func ByIP(c echo.Context) (key, tier string) { return address.Key(c.RealIP()), "" }

// Middleware lets requests through as a policy allows. A refusal is answered with a
// 429 at once, and is no error of the handler; what a programmer got wrong, such as a
// policy that is not there, is. So is a 503 for a request whose context ends before it
// is decided, or while it waits.
func Middleware(l *limit.Limiter, policy string, key KeyFunc, options ...limit.Option) echo.MiddlewareFunc {
	s := limit.Apply(options)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, tier := key(c)
			if who == "" {
				return next(c)
			}
			q := limit.Request{Policy: policy, Key: who, Tier: tier}
			if s.Cost != nil {
				q.Cost = s.Cost(c.Request())
			}
			ctx := c.Request().Context()
			d, err := l.Allow(ctx, q)
			if err != nil {
				return ended(ctx, err)
			}
			h := c.Response().Header()
			d.SetHeader(h)
			if !d.Allowed {
				h.Set(echo.HeaderCacheControl, "no-store")
				if c.Request().Method == http.MethodHead {
					return c.NoContent(http.StatusTooManyRequests)
				}
				return c.Blob(http.StatusTooManyRequests, "application/problem+json", d.Problem())
			}
			if err := d.Wait(ctx, s.MaxWait); err != nil {
				return ended(ctx, err)
			}
			return next(c)
		}
	}
}

// ended is a 503 where it is the context that has ended, else the error itself.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return echo.NewHTTPError(http.StatusServiceUnavailable).SetInternal(err)
}
