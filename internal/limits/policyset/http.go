package policyset

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/serve"
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

// List answers GET /admin/limits.
func (h *HTTP) List(c echo.Context) error {
	all := h.policies.All(c.Request().Context())
	if all == nil {
		all = []limit.Policy{} // an empty list, not null
	}
	return c.JSON(http.StatusOK, map[string][]limit.Policy{"limits": all})
}

// Get answers GET /admin/limits/:name.
func (h *HTTP) Get(c echo.Context) error {
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

// Put answers PUT /admin/limits/:name: 201 for a new policy, else 200.
func (h *HTTP) Put(c echo.Context) error {
	by, err := serve.ReadBy(c.Request())
	if err != nil {
		return err
	}
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
	p, made, err := h.policies.Put(c.Request().Context(), p, by, serve.ConditionOf(c.Request().Header))
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

// Delete answers DELETE /admin/limits/:name.
func (h *HTTP) Delete(c echo.Context) error {
	by, err := serve.ReadBy(c.Request())
	if err != nil {
		return err
	}
	if err := h.policies.Delete(c.Request().Context(), c.Param("name"), by, serve.ConditionOf(c.Request().Header)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// Stats answers GET /admin/limits/:name/stats.
func (h *HTTP) Stats(c echo.Context) error {
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
