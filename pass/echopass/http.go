// Package echopass is the middleware of package pass for echo v4.
package echopass

import (
	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/pass"
)

// Middleware lets requests with a good pass of the zone through. A refusal is answered at
// once, and is no error of the handler.
func Middleware(v *pass.Verifier, zone string, options ...pass.Option) echo.MiddlewareFunc {
	return echo.WrapMiddleware(v.Middleware(zone, options...))
}

// From returns the pass that Middleware has let a request through with.
func From(c echo.Context) (pass.Pass, bool) { return pass.From(c.Request().Context()) }
