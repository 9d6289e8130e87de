package policyset

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// Seen knows what this server has seen of its policies. *limiter.Limiter implements it.
type Seen interface {
	Stats(name string) (limiter.Stats, error)
}

// HTTP has the handlers for policies on the operators' listener.
type HTTP struct {
	policies *Set
	seen     Seen
}

// NewHTTP returns the handlers. They do not check who asks: the operators' guard must stand
// before them.
func NewHTTP(s *Set, seen Seen) *HTTP { return &HTTP{s, seen} }

// Limits are all policies.
type Limits struct {
	Limits []limit.Policy `json:"limits" maxItems:"100" doc:"In the order of their names."`
}

type location struct {
	PolicyLocation string `json:"Location" format:"uri-reference" pattern:"^/admin/limits/[A-Za-z0-9._-]{1,64}$" example:"/admin/limits/api" doc:"Where the policy is."`
}

// Routes are the calls for policies. All are below /admin.
func (h *HTTP) Routes() []route.Route {
	const all, one = "/admin/limits", "/admin/limits/{name}"
	const asKept = "As the store has it; while it is away, as it is in force on this server."
	policy := route.Answer{Status: http.StatusOK, Doc: "The policy, as it is now.", Body: limit.Policy{}, Headers: []any{route.ETag{}}}
	badName := []string{"name must be 1 to 64 of A-Z a-z 0-9 . _ -"}
	return []route.Route{
		{
			Method: http.MethodGet, Path: all, Role: route.Viewer, Handle: h.list, ID: "listLimits", Tag: "limits", Summary: "All policies of limits", Doc: asKept,
			Answers: []route.Answer{{Status: http.StatusOK, Doc: "The policies, in the order of their names.", Body: Limits{}}},
		},
		{
			Method: http.MethodGet, Path: one, Role: route.Viewer, Handle: h.get, ID: "getLimit", Tag: "limits", Summary: "One policy", Doc: asKept,
			Answers: []route.Answer{policy}, Refusals: []string{"policy_unknown"}, Invalid: badName,
		},
		{
			Method: http.MethodPut, Path: one, Role: route.Admin, Handle: h.put, ID: "putLimit", Tag: "limits", Summary: "Make a policy, or set everything of it",
			Doc: "In force on every server within a second. What clients have taken stays counted when the limit or burst of a rule " +
				"changes, and is forgotten when its algorithm or window does. What a server remembers of refusals it forgets: who may " +
				"go on by the new figures, may at once.",
			Change: true, Params: []any{serve.Condition{}}, Body: limit.Policy{},
			Samples: []route.Sample{
				{
					Name: "usual", Summary: "100 a minute and 20 in 10 s, an address",
					Body: `rules: [{algorithm: sliding_log, limit: 100, windowSeconds: 60}, {algorithm: sliding_log, limit: 20, windowSeconds: 10}]`,
				},
				{
					Name: "tiers", Summary: "By API key, more for those who pay; nobody when the store is away",
					Body: `{key: [apiKey, ip], rules: [{algorithm: token_bucket, limit: 60, windowSeconds: 60, burst: 10}], ` +
						`tiers: {pro: [{algorithm: token_bucket, limit: 6000, windowSeconds: 60, burst: 1000}]}, onStoreFailure: closed}`,
				},
			},
			Answers: []route.Answer{policy, {
				Status: http.StatusCreated, Doc: "The policy was made.", Body: limit.Policy{}, Headers: []any{route.ETag{}, location{}},
			}},
			Refusals: []string{"conflict", "precondition_failed", "store_unavailable"},
			Invalid:  []string{`"burts" is not a setting of a rule; did you mean "burst"?`, "burst must be a whole number"},
		},
		{
			Method: http.MethodDelete, Path: one, Role: route.Admin, Handle: h.delete, ID: "deleteLimit", Tag: "limits", Summary: "Delete a policy",
			Doc:    "Who asks for it gets `policy_unknown` from then on. A policy of that name in the configuration is not made again.",
			Change: true, Params: []any{serve.Condition{}},
			Answers:  []route.Answer{{Status: http.StatusNoContent, Doc: "The policy is no more."}},
			Refusals: []string{"policy_unknown", "conflict", "precondition_failed", "store_unavailable"}, Invalid: badName,
		},
		{
			Method: http.MethodGet, Path: one + "/stats", Role: route.Viewer, Handle: h.stats, ID: "limitStats", Tag: "limits", Summary: "What this server has seen of a policy",
			Doc:      "Of this server alone, since it was started: the whole is the sum over all servers, which Prometheus makes.",
			Answers:  []route.Answer{{Status: http.StatusOK, Doc: "Counts by tier and outcome, in all and of the last minute.", Body: limiter.Stats{}}},
			Refusals: []string{"policy_unknown"}, Invalid: badName,
		},
	}
}

func (h *HTTP) list(c echo.Context) error {
	all := h.policies.All(c.Request().Context())
	if all == nil {
		all = []limit.Policy{} // an empty list, not null
	}
	return c.JSON(http.StatusOK, Limits{all})
}

func (h *HTTP) get(c echo.Context) error {
	p, err := h.policies.Get(c.Request().Context(), c.Param("name"))
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, p)
}

// send answers with a policy, and with its version as the ETag.
func send(c echo.Context, status int, p limit.Policy) error {
	c.Response().Header().Set("ETag", Version(p))
	return c.JSON(status, p)
}

// put answers 201 for a new policy, else 200.
func (h *HTTP) put(c echo.Context) error {
	name := c.Param("name")
	if err := CheckName(name); err != nil {
		return err
	}
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	p, err := readBody(name, body)
	if err != nil {
		return err
	}
	p, made, err := h.policies.Put(c.Request().Context(), p, serve.By(c.Request().Context()), serve.ConditionOf(c.Request().Header))
	if err != nil {
		return err
	}
	if !made {
		return send(c, http.StatusOK, p)
	}
	c.Response().Header().Set(echo.HeaderLocation, "/admin/limits/"+p.Name)
	return send(c, http.StatusCreated, p)
}

// readBody reads a policy of that name, which the body may leave out. The error is a
// *serve.FieldError for a body that is not JSON, else a *serve.InvalidError with all
// faults.
func readBody(name string, body []byte) (limit.Policy, error) {
	n, err := strictyaml.Object(body)
	if err != nil {
		return limit.Policy{}, &serve.FieldError{Field: serve.BodyField, Reason: err.Error()}
	}
	p, faults := Read(n, name)
	var all []string
	for _, f := range faults {
		all = append(all, f.Text)
	}
	if len(all) == 0 && p.Name != name {
		all = append(all, "name must be that of the path, or left out")
	}
	if len(all) > 0 {
		return limit.Policy{}, &serve.InvalidError{Faults: all}
	}
	return p, nil
}

func (h *HTTP) delete(c echo.Context) error {
	ctx := c.Request().Context()
	if err := h.policies.Delete(ctx, c.Param("name"), serve.By(ctx), serve.ConditionOf(c.Request().Header)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *HTTP) stats(c echo.Context) error {
	name := c.Param("name")
	if err := CheckName(name); err != nil {
		return err
	}
	stats, err := h.seen.Stats(name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, stats)
}
