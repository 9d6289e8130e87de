package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
)

// policy is the Content-Security-Policy of every answer: nothing but this
// server's own files, nothing written into the page, in nobody's frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// headers go with every answer of the console.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

var (
	// errNothing: there is no such page.
	errNothing = refusal.New("console: no such page", refusal.Refusal{
		Status: http.StatusNotFound, Code: refusal.NotFound.Code,
		Title: "There is nothing at this address", Detail: "It may have been mistyped.",
	})
	// errTooMany: more consoles are open than there may be.
	errTooMany = refusal.New("console: too many are open", refusal.Refusal{
		Status: http.StatusServiceUnavailable, Code: refusal.Unavailable.Code, RetryMin: 5, RetryMax: 5,
		Title: "Too many consoles are open", Detail: "Close some of them.",
	})
)

// Meter counts refusals.
type Meter interface {
	// Refuse counts one request that ended with a problem. zoneID is the zone that the request named, or "".
	Refuse(zoneID, code string)
}

// handler answers a request of a session. An error that it returns becomes a
// page; it has not written anything then.
type handler func(w http.ResponseWriter, r *http.Request, s session) error

// protect puts the headers on every answer, refuses what a browser sends on
// behalf of another site, and bounds bodies.
func (c *Console) protect(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if err := origins.Check(r); err != nil {
			c.fail(w, r, session{}, fmt.Errorf("%w: %w", operator.ErrCrossOrigin, err))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// open is a handler that needs no session: it gets the zero one from who has none. It finds a
// form that was sent read.
func (c *Console) open(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := c.session(r)
		if s.who != "" {
			r = r.WithContext(people.With(r.Context(), s.By))
		}
		if err == nil {
			err = readForm(r)
		}
		if err == nil {
			err = h(w, r, s)
		}
		if err != nil {
			c.fail(w, r, s, err)
		}
	}
}

// session returns who sends a request: whom a proxy in front names, else who has the session of its cookie. The error is that of a
// proxy's user who may do nothing here.
func (c *Console) session(r *http.Request) (s session, err error) {
	by, named, err := c.Access.ByProxy(r)
	if err != nil {
		return s, err
	}
	if named {
		now := c.Now()
		return session{by.String(), people.Session{By: by, Begun: now, Expires: now.Add(people.SessionAge)}}, nil
	}
	if sent, err := r.Cookie(cookie(c.Secure(r), "", 0).Name); err == nil {
		if of, ok := c.People.Open(sent.Value); ok {
			of.By.Address = c.Access.From(r)
			return session{of.By.String(), of}, nil
		}
	}
	return s, nil
}

// guarded is a handler for sessions only. Pages lead to the log in and back;
// what a script asks for is refused with 401.
func (c *Console) guarded(h handler) http.HandlerFunc {
	return c.open(func(w http.ResponseWriter, r *http.Request, s session) error {
		switch {
		case s.who != "":
			return h(w, r, s)
		case !strings.Contains(r.Header.Get("Accept"), "text/html"): // no person looks at the answer
			return operator.ErrUnauthorized
		}
		to := root + "login"
		if r.Method == http.MethodGet && r.URL.Path != root {
			to += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	})
}

// fail answers with an error's page: what its refusal says. What has
// none is logged, once, and its text is not sent.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, s session, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody reads it
	}
	p := refusal.Describe(err)
	if p.Status == http.StatusInternalServerError {
		c.Logger.ErrorContext(r.Context(), "console request failed", "method", r.Method, "path", r.Pattern, "error", err)
	}
	c.Meter.Refuse(answer.ZoneOf(err), p.Code)
	if p.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfterSeconds))
	}
	if err := c.render(w, p.Status, "error", s, p.Title, p); err != nil {
		c.Logger.ErrorContext(r.Context(), "console page failed", "error", err)
		http.Error(w, "This page could not be made. It has been logged.", http.StatusInternalServerError)
	}
}

// login is POST /console/login.
func (c *Console) login(w http.ResponseWriter, r *http.Request, _ session) error {
	form := c.loginForm(r.PostForm.Get("next"))
	form.Who = r.PostForm.Get("who")
	by, err := c.Access.Check(r, strings.TrimSpace(r.PostForm.Get("token")), root+"login", "who", form.Who)
	if err != nil {
		p := refusal.Describe(err)
		form.TokenFault = "That is no token of an operator."
		if p.RetryAfterSeconds > 0 {
			form.TokenFault = "That is no token of an operator. Wrong tokens came too often; wait some seconds. The server takes a right token at any time."
			w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfterSeconds))
		}
		c.Meter.Refuse("", p.Code)
		return c.render(w, p.Status, "login", session{}, "Log in", form)
	}
	if by.Proof == audit.Root {
		if by.Name, form.WhoFault = checkWho(form.Who); form.WhoFault != "" {
			return c.render(w, http.StatusUnprocessableEntity, "login", session{}, "Log in", form)
		}
	}
	if err := c.begin(w, r, by, people.SessionAge); err != nil {
		return err
	}
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
	return nil
}

// begin begins a session of that age.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, by people.Identity, age time.Duration) error {
	sealed, s, err := c.People.Begin(by, age)
	if err != nil {
		return fmt.Errorf("console: sign a session: %w", err)
	}
	http.SetCookie(w, cookie(c.Secure(r), sealed, s.Expires.Sub(c.Now())))
	c.Logger.InfoContext(r.Context(), "console log in", "who", by.String(), "proof", by.Proof, "id", by.ID, "grants", by.Grants, "from", c.Access.From(r))
	return nil
}

// loginForm is the log in page.
type loginForm struct {
	Who, Next            string
	WhoFault, TokenFault string
	// Provider is the host of the provider, "" without one.
	Provider string
}

// loginForm returns the form that leads to the page next.
func (c *Console) loginForm(next string) loginForm {
	f := loginForm{Next: nextOf(next)}
	if c.Provider != nil {
		f.Provider = c.Provider.Name()
	}
	return f
}

// loginPage is GET /console/login.
func (c *Console) loginPage(w http.ResponseWriter, r *http.Request, s session) error {
	form := c.loginForm(r.URL.Query().Get("next"))
	if s.who != "" {
		http.Redirect(w, r, form.Next, http.StatusSeeOther)
		return nil
	}
	return c.render(w, http.StatusOK, "login", session{}, "Log in", form)
}

// logout is POST /console/logout.
func (c *Console) logout(w http.ResponseWriter, r *http.Request, s session) error {
	if s.ID != "" { // one that no proxy began
		c.People.End(r.Context(), s.Session)
	}
	http.SetCookie(w, cookie(c.Secure(r), "", -time.Second))
	http.Redirect(w, r, root+"login", http.StatusSeeOther)
	return nil
}

// nextOf is where to go after the log in: a page of this console, or the first. http.Redirect makes /\host of
// /console/../\host, which a browser takes for another host.
func nextOf(text string) string {
	if !strings.HasPrefix(text, root) || strings.HasPrefix(text, root+"log") || strings.Contains(text, "/..") || strings.Contains(text, `\`) {
		return root
	}
	return text
}

// readForm reads a form that was sent. The error is for the table of problems.
func readForm(r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	err := r.ParseForm()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("console: %w", serve.ErrTooLarge)
	}
	if err != nil {
		return &serve.FieldError{Field: serve.BodyField, Reason: "is not a form"}
	}
	return nil
}
