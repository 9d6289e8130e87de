package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// roles are those that a page or a form needs. Others need viewer to look and operator to send.
var roles = map[string]route.Role{
	"POST /console/logout":                route.Viewer,
	"GET /console/new":                    route.Admin,
	"POST /console/new":                   route.Admin,
	"GET /console/zones/{zoneId}/delete":  route.Admin,
	"POST /console/zones/{zoneId}/delete": route.Admin,
	"GET /console/tokens":                 route.Admin,
	"POST /console/tokens":                route.Admin,
	"POST /console/tokens/revoke":         route.Admin,
}

// permitted is a handler for those who may: in the zone of the path, else of the form.
func (c *Console) permitted(pattern string, h handler) handler {
	role := roles[pattern]
	switch {
	case role != "":
	case strings.HasPrefix(pattern, "POST "):
		role = route.Operator
	default:
		role = route.Viewer
	}
	_, path, _ := strings.Cut(pattern, " ")
	whole := strings.HasPrefix(path, root+"tokens")
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		zoneID := r.PathValue("zoneId")
		if zoneID == "" {
			zoneID = strings.TrimSpace(r.PostForm.Get("zoneId")) // as create reads it
		}
		if whole && !s.By.MayAll(role) || zoneID != "" && !s.By.May(role, zoneID) || !s.By.MaySomewhere(role) {
			c.People.Refused(s.by(), pattern)
			return people.ErrForbidden
		}
		return h(w, r, s)
	}
}

// alive reports whether a session goes on.
func (c *Console) alive(s session) bool {
	_, ok := c.People.Alive(s.Session)
	return ok
}

// tokensView is the page of tokens.
type tokensView struct {
	Tokens []tokenRow
	Roles  []route.Role
	Form   url.Values
	Fault  string
	// Made is a token that was made now, and For whom.
	Made, For string
}

// tokenRow is a token as the page shows it.
type tokenRow struct {
	people.Issued
	Zones   string
	Expires time.Time
}

// ofTokens is a page of tokens.
func (c *Console) ofTokens(form url.Values) tokensView {
	v := tokensView{Roles: route.Roles, Form: form}
	for _, t := range c.People.Tokens() {
		v.Tokens = append(v.Tokens, tokenRow{t, strings.Join(t.Zones, ", "), time.UnixMilli(t.ExpiresAt)})
	}
	return v
}

// tokensPage is GET /console/tokens.
func (c *Console) tokensPage(w http.ResponseWriter, _ *http.Request, s session) error {
	return c.render(w, http.StatusOK, "tokens", s, "Tokens", c.ofTokens(nil))
}

// makeToken is POST /console/tokens: the page then shows the token, this once.
func (c *Console) makeToken(w http.ResponseWriter, r *http.Request, s session) error {
	days, err := strconv.ParseInt(r.PostForm.Get("days"), 10, 32)
	if err != nil {
		days = 0 // the usual
	}
	token, made, err := c.People.Create(r.Context(), people.Wanted{
		Name: strings.TrimSpace(r.PostForm.Get("name")), Role: route.Role(r.PostForm.Get("role")),
		Zones:         strings.FieldsFunc(r.PostForm.Get("zones"), func(c rune) bool { return c == ',' || c == ' ' }),
		ExpireSeconds: days * int64(24*time.Hour/time.Second),
	}, s.by())
	v := c.ofTokens(r.PostForm)
	if invalid, ok := errors.AsType[*serve.InvalidError](err); ok {
		v.Fault = strings.Join(invalid.Faults, "; ")
		return c.render(w, http.StatusUnprocessableEntity, "tokens", s, "Tokens", v)
	} else if err != nil {
		return err
	}
	v = c.ofTokens(nil)
	v.Made, v.For = token, made.Name
	return c.render(w, http.StatusCreated, "tokens", s, "Tokens", v)
}

// revokeToken is POST /console/tokens/revoke.
func (c *Console) revokeToken(w http.ResponseWriter, r *http.Request, s session) error {
	if err := c.People.Revoke(r.Context(), r.PostForm.Get("id"), s.by()); err != nil && !errors.Is(err, people.ErrUnknown) {
		return err
	}
	http.Redirect(w, r, root+"tokens", http.StatusSeeOther)
	return nil
}
