package people

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/serve/strictyaml"
)

// HTTP has the handlers for tokens on the operators' listener.
type HTTP struct{ registry *Registry }

// NewHTTP returns the handlers. They do not check who asks: see Permit.
func NewHTTP(r *Registry) *HTTP { return &HTTP{r} }

// List are all tokens that are good.
type List struct {
	Tokens []Issued `json:"tokens" maxItems:"500" doc:"In the order of their names."`
}

// Made is a token that was made now.
type Made struct {
	Issued
	Token string `json:"token" pattern:"^qs_[A-Za-z0-9_-]{43}$" example:"qs_WvT1m0r2yJb3nXc8kLQp5sGdEhZf6uAaRi9oKtYMe4w" doc:"The token. It is shown this once."`
}

// Routes are the calls for tokens. All are below /admin.
func (h *HTTP) Routes() []route.Route {
	const all = "/admin/tokens"
	const unknown, away = "token_unknown", "store_unavailable"
	return []route.Route{
		{
			Method: http.MethodGet, Path: all, Role: route.Admin, Handle: h.list, ID: "listTokens", Tag: "operators", Summary: "All tokens of operators that are good",
			Answers: []route.Answer{{Status: http.StatusOK, Doc: "The tokens, without what they are. Those of `QUEUE_ADMIN_TOKEN` and `QUEUE_METRICS_TOKEN` are not among them.", Body: List{}}},
		},
		{
			Method: http.MethodPost, Path: all, Role: route.Admin, Handle: h.create, ID: "createToken", Tag: "operators", Summary: "Make a token for a person or a machine",
			Doc:    "In force on every server within a second. One who has a token needs no `X-Operator`: changes are recorded under the token's name.",
			Change: true, Body: Wanted{},
			Samples: []route.Sample{
				{Name: "person", Summary: "Anna runs two sales", Body: `{name: anna, role: operator, zones: [SHOP, SALE-*]}`},
				{Name: "pipeline", Summary: "A pipeline makes and changes the zones of a team, for a year", Body: `{name: team-a-ci, role: admin, zones: [TEAM-A-*], expireSeconds: 31536000}`},
			},
			Answers:  []route.Answer{{Status: http.StatusCreated, Doc: "The token was made.", Body: Made{}}},
			Refusals: []string{"conflict", away}, Invalid: []string{"role must be viewer, operator or admin"},
		},
		{
			Method: http.MethodDelete, Path: all + "/{token}", Role: route.Admin, Handle: h.revoke, ID: "revokeToken", Tag: "operators", Summary: "Revoke a token, or all of a name",
			Doc: "Every server refuses it within a second, and ends the sessions that were begun with it. While the store is away, this server does so at " +
				"once, and the others when the store is back.",
			Change: true, Answers: []route.Answer{{Status: http.StatusNoContent, Doc: "It is revoked."}},
			Refusals: []string{unknown, away}, Invalid: []string{"X-Operator is missing"},
		},
		{
			Method: http.MethodDelete, Path: "/admin/sessions/{subject}", Role: route.Admin, Handle: h.endAll, ID: "revokeSessions", Tag: "operators", Summary: "End all of somebody's sessions of the console",
			Doc:    "Of that name, or of that subject at the provider; on every server within a second. Whoever has a good token or group can log in again: take that away, too.",
			Change: true, Answers: []route.Answer{{Status: http.StatusNoContent, Doc: "They have ended, if there were any."}},
			Invalid: []string{"X-Operator is missing"},
		},
	}
}

// Permit lets a call pass if who asks may make it, and has a name if it changes something; what it refuses goes into the record.
// It belongs behind the guard that identifies who asks.
func (h *HTTP) Permit(r route.Route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, via := Of(c.Request().Context()), audit.ViaAPI
			if c.Request().UserAgent() == serve.CLIAgent {
				via = audit.ViaCLI
			}
			if err := who.Allows(r, c.Param("zoneId")); err != nil {
				h.registry.Refused(who.By(via), r.Method+" "+r.Path)
				return err
			}
			if r.Change {
				by, err := serve.ReadBy(c.Request(), who.By(via))
				switch {
				case err != nil:
					return err
				case by.Name == "":
					return &serve.FieldError{Field: serve.ByHeader, Reason: "is missing: say who makes the change, or use a token of your own (queue-server tokens create)"}
				}
				c.SetRequest(serve.WithBy(c.Request(), by))
			}
			return next(c)
		}
	}
}

func (h *HTTP) list(c echo.Context) error { return c.JSON(http.StatusOK, List{h.registry.Tokens()}) }

func (h *HTTP) create(c echo.Context) error {
	body, err := serve.ReadBody(c)
	if err != nil {
		return err
	}
	n, err := strictyaml.Object(body)
	if err != nil {
		return &serve.FieldError{Field: serve.BodyField, Reason: err.Error()}
	}
	var wanted Wanted
	var r strictyaml.Reader
	if r.Struct(n, "a token", &wanted); len(r.Faults) > 0 {
		return &serve.InvalidError{Faults: []string{r.Faults[0].Text}}
	}
	token, made, err := h.registry.Create(c.Request().Context(), wanted, serve.By(c.Request().Context()))
	if err != nil {
		return fmt.Errorf("people: create: %w", err)
	}
	return c.JSON(http.StatusCreated, Made{made, token})
}

func (h *HTTP) revoke(c echo.Context) error {
	ctx := c.Request().Context()
	if err := h.registry.Revoke(ctx, c.Param("token"), serve.By(ctx)); err != nil {
		return fmt.Errorf("people: revoke: %w", err)
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *HTTP) endAll(c echo.Context) error {
	ctx := c.Request().Context()
	h.registry.EndAll(ctx, c.Param("subject"), serve.By(ctx))
	return c.NoContent(http.StatusNoContent)
}
