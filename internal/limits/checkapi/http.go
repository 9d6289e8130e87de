package checkapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/serve"
)

// buffer holds an answer of the usual length: that of a policy with four rules.
type buffer [512]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// Values of header fields, shared by all answers. Their capacity is their length, so an
// append by a middleware copies them.
var (
	jsonType    = []string{echo.MIMEApplicationJSON}
	problemType = []string{ratelimit.ContentType}
	noStore     = []string{"no-store"}
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
	res := c.Response()
	h := res.Header()
	ratelimit.SetFields(h, a)
	h[echo.HeaderCacheControl] = noStore
	buf, ok := buffers.Get().(*buffer)
	if !ok {
		buf = new(buffer)
	}
	defer buffers.Put(buf)
	body, status := buf[:0], http.StatusOK
	switch {
	case !a.Allowed:
		status = http.StatusTooManyRequests
		h[echo.HeaderContentType] = problemType
		body = ratelimit.AppendRefusal(body, a)
	case describe:
		h[echo.HeaderContentType] = jsonType
		body = appendAnswer(body, a)
	}
	// net/http writes Content-Length itself if the body fits its buffer.
	res.WriteHeader(status)
	if len(body) == 0 || c.Request().Method == http.MethodHead {
		return nil
	}
	_, err := res.Write(body)
	return err
}
