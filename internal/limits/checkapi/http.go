package checkapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
)

// Limits decides questions. *limiter.Limiter implements it.
type Limits interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
	// Sources returns what the policy tells clients apart by; ok is false if there is
	// no such policy.
	Sources(policy string) (sources []limit.Source, ok bool)
}

// HTTP answers questions on the limits' listener.
type HTTP struct {
	limits     Limits
	identities *identity.Finder
}

// NewHTTP returns the handlers.
func NewHTTP(limits Limits, identities *identity.Finder) *HTTP { return &HTTP{limits, identities} }

// Check answers POST /limits/:policy/check, in which a service has named the key.
func (h *HTTP) Check(c echo.Context) error {
	var q limiter.Question
	if err := serve.ReceiveBody(c, func(body []byte) (err error) {
		q, err = readQuestion(c.Param("policy"), body)
		return err
	}); err != nil {
		return err
	}
	return h.ask(c, q, true)
}

// Auth answers any method of /limits/:policy/auth and of all paths below it, about the client whose
// request a gateway has forwarded. It does not read the request's body, and the cost is 1. A permit
// has no body, since no gateway reads it.
func (h *HTTP) Auth(c echo.Context) error {
	policy := c.Param("policy")
	sources, ok := h.limits.Sources(policy)
	if !ok {
		return limiter.ErrPolicyUnknown
	}
	who := h.identities.Find(c.Request(), sources)
	return h.ask(c, limiter.Question{Policy: policy, Key: who.Key, Tier: who.Tier, Cost: 1}, false)
}

// ask answers a question. The error is a *serve.FieldError or wraps limiter.ErrPolicyUnknown.
func (h *HTTP) ask(c echo.Context, q limiter.Question, describe bool) error {
	a, err := h.limits.Check(c.Request().Context(), q)
	switch {
	case errors.Is(err, limiter.ErrKey):
		return &serve.FieldError{Field: "key", Reason: fmt.Sprintf("must have 1 to %d bytes", limiter.MaxKey)}
	case errors.Is(err, limiter.ErrCost):
		return &serve.FieldError{Field: "cost", Reason: "must be between 1 and the least that a rule of the policy permits at once"}
	case err != nil:
		return fmt.Errorf("checkapi: %w", err)
	}
	return send(c, &a, describe)
}

// send answers with the verdict. A refusal is not returned as an error, since there can be
// a flood of refusals.
func send(c echo.Context, a *limiter.Answer, describe bool) error {
	h := c.Response().Header()
	ratelimit.SetFields(h, a)
	h.Set(echo.HeaderCacheControl, "no-store")
	status, kind := http.StatusOK, echo.MIMEApplicationJSON
	var body []byte
	switch {
	case !a.Allowed:
		status, kind, body = http.StatusTooManyRequests, refusal.ContentType, ratelimit.AppendRefusal(nil, a)
	case describe:
		text, err := json.Marshal(permitOf(a))
		if err != nil {
			return fmt.Errorf("checkapi: %w", err)
		}
		body = text
	default:
		return c.NoContent(status)
	}
	if c.Request().Method == http.MethodHead {
		h.Set(echo.HeaderContentType, kind)
		return c.NoContent(status)
	}
	return c.Blob(status, kind, body)
}
