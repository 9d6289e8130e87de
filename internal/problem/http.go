package problem

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// Meter counts refusals.
type Meter interface {
	// Refuse counts one request that ended with a problem. zoneID is the zone
	// that the request named, or "". It may not exist: the meter must not make
	// a time series for each.
	Refuse(zoneID, code string)
}

// Handler returns the HTTPErrorHandler of echo, for all listeners: it answers with
// the problem, counts it, and logs an error without a refusal.
func Handler(log *slog.Logger, meter Meter) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		ctx := c.Request().Context()
		if c.Response().Committed {
			// The answer was being sent when the client hung up.
			log.DebugContext(ctx, "answer not sent", "route", c.Path(), "error", err)
			return
		}
		p := of(err)
		if p.Status == http.StatusInternalServerError {
			log.ErrorContext(ctx, "request failed",
				"method", c.Request().Method, "route", c.Path(), "error", err)
		}
		if !errors.Is(err, context.Canceled) {
			meter.Refuse(answer.ZoneOf(err), p.Code)
		}
		var told interface{ DetailFor(accept string) string }
		if errors.As(err, &told) {
			p.Detail = told.DetailFor(c.Request().Header.Get("Accept-Language"))
		}
		if err := write(c, p); err != nil {
			log.DebugContext(ctx, "problem not sent", "route", c.Path(), "error", err)
		}
	}
}

// of is the document of an error, of one of echo, too.
func of(err error) refusal.Document {
	var he *echo.HTTPError
	if refusal.Of(err).Code == refusal.Internal.Code && errors.As(err, &he) {
		return refusal.OfStatus(he.Code).Document()
	}
	return refusal.Describe(err)
}

func write(c echo.Context, p refusal.Document) error {
	res := c.Response()
	body, err := p.Encode(res.Header())
	if err != nil {
		return err
	}
	res.WriteHeader(p.Status)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	_, err = res.Write(body)
	return err
}
