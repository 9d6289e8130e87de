package checkapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
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

// The parameters and headers of the calls.
type (
	forwarded struct {
		For string `json:"X-Forwarded-For" doc:"The addresses that the request came by, the client's first. The last one that is no trusted proxy's counts, if the connection is a trusted proxy's." example:"203.0.113.9"`
		Key string `json:"X-API-Key" doc:"The client's key, for a policy that counts by it. It counts if its SHA-256 is in the configured list." example:"4f1c0a52"`
	}
	left struct {
		RateLimitPolicy     string `json:"RateLimit-Policy" pattern:"^\"[A-Za-z0-9._-]+\";q=[0-9]+;w=[0-9]+(, \"[A-Za-z0-9._-]+\";q=[0-9]+;w=[0-9]+)*$" example:"\"api\";q=100;w=60" doc:"The rules: a structured list of the policy's name, with q, the quota, and w, the window in seconds. Several rules have their places behind the name: \"api.1\", \"api.2\"."`
		RateLimit           string `json:"RateLimit,omitempty" pattern:"^\"[A-Za-z0-9._-]+\";r=[0-9]+;t=[0-9]+(, \"[A-Za-z0-9._-]+\";r=[0-9]+;t=[0-9]+)*$" example:"\"api\";r=37;t=12" doc:"What is left: a structured list of the same names, with r, the permits that are left, and t, in how many seconds all of them are there again, but at most Retry-After."`
		XRateLimitLimit     int64  `json:"X-RateLimit-Limit,omitempty" minimum:"1" example:"100" doc:"The quota of the rule with least left."`
		XRateLimitRemaining int64  `json:"X-RateLimit-Remaining,omitempty" example:"37" doc:"What is left of it."`
		XRateLimitReset     int64  `json:"X-RateLimit-Reset,omitempty" example:"12" doc:"Its t, in seconds from now."`
	}
	again struct {
		RetryAfterLimit int64 `json:"Retry-After" minimum:"1" maximum:"864000000000" example:"3" doc:"In how many seconds, rounded up, the same request would be allowed, if nobody else took anything until then."`
	}
)

// Routes are the calls of services and gateways. document is how the document of a refusal is described.
func (h *HTTP) Routes(document route.Object) []route.Route {
	headers := []any{route.NoStore{}, left{}}
	refused := route.Answer{
		Status:  http.StatusTooManyRequests,
		Doc:     "`rate_limited`: the limit is used up. `limits_unavailable`: the store that counts is away, and the policy says `closed`. Neither was counted.",
		Headers: append(slices.Clone(headers), again{}), Media: route.Object{{Name: refusal.ContentType, Value: document}},
	}
	auth := route.Route{
		Method: http.MethodGet, Head: true, Any: true, Path: "/limits/{policy}/auth", Handle: h.auth, ID: "auth", Tag: "limits",
		Summary:  "Count a client's request, as a gateway forwards it",
		Doc:      "Any other method does the same. The key is found in the headers; a body is not read.",
		Security: []string{"", "member"}, Params: []any{forwarded{}},
		Answers: []route.Answer{
			{Status: http.StatusOK, Doc: "Within the limit, and counted. It has no body.", Headers: headers}, refused,
		},
		Refusals: []string{"policy_unknown", "internal_error"},
	}
	below := auth
	below.Path, below.ID = "/limits/{policy}/auth/{path}", "authBelow"
	return []route.Route{
		{
			Method: http.MethodPost, Path: "/limits/{policy}/check", Handle: h.check, ID: "check", Tag: "limits",
			Summary: "Count a request, if it is within the limit", Body: question{},
			Samples: []route.Sample{
				{Name: "least", Summary: "The least that will do", Body: `{key: 'ip:203.0.113.9'}`},
				{Name: "member", Summary: "A member of a tier, for a request that costs five", Body: `{key: 'member:1234', tier: pro, cost: 5}`},
			},
			Answers: []route.Answer{
				{Status: http.StatusOK, Doc: "Within the limit, and counted.", Body: permit{}, Headers: headers}, refused,
			},
			Refusals: []string{"policy_unknown", "internal_error"}, Invalid: []string{"key is missing"},
		},
		auth, below,
	}
}

// check answers a service, which has named the key.
func (h *HTTP) check(c echo.Context) error {
	var q limiter.Question
	if err := serve.ReceiveBody(c, func(body []byte) (err error) {
		q, err = readQuestion(c.Param("policy"), body)
		return err
	}); err != nil {
		return err
	}
	return h.ask(c, q, true)
}

// auth answers about the client whose request a gateway has forwarded. It does not read the request's body, and the cost is 1. A permit
// has no body, since no gateway reads it.
func (h *HTTP) auth(c echo.Context) error {
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
