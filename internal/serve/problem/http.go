package problem

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/serve"
)

// Meter counts refusals.
type Meter interface {
	// Refuse counts one request that ended with a problem. zoneID is the zone
	// that the request named, or "". It may not exist: the meter must not make
	// a time series for each.
	Refuse(zoneID, code string)
}

// Handler returns the HTTPErrorHandler of echo, for all listeners: it answers with
// the problem, counts it, and logs an error that the table does not have.
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
		if sold, ok := errors.AsType[*answer.SoldOutError](err); ok {
			p.Detail = serve.TextFor(sold.Reason, c.Request().Header.Get("Accept-Language"))
		}
		if err := write(c, p); err != nil {
			log.DebugContext(ctx, "problem not sent", "route", c.Path(), "error", err)
		}
	}
}

// of does what Of does, and knows the errors of echo, too.
func of(err error) Problem {
	k := kindOf(err)
	var he *echo.HTTPError
	if k == &internalError && errors.As(err, &he) {
		return OfStatus(he.Code)
	}
	return describe(k, err)
}

func write(c echo.Context, p Problem) error {
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

// Encode returns the document, and sets the header that goes with it.
func (p Problem) Encode(h http.Header) (body []byte, err error) {
	if body, err = json.Marshal(p); err != nil {
		return nil, err
	}
	h.Set(echo.HeaderContentType, ContentType)
	h.Set(echo.HeaderCacheControl, "no-store") // a 404 or 410 would be cacheable
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	if p.RetryAfterSeconds > 0 {
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(p.RetryAfterSeconds))
	}
	if p.Authenticate != "" {
		h.Set(echo.HeaderWWWAuthenticate, p.Authenticate)
	}
	return body, nil
}
