package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // the page's files
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/clients/js"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// HTTP serves the page. Its methods may be called from any number of goroutines.
type HTTP struct {
	wait    *wait.Service
	entry   *entry.Service
	zones   *zones.Zones
	inside  func(zoneID string, header http.Header) bool
	locales *locales
	page    *template.Template
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed site.js
var siteJS string

// SiteScript answers GET /traffic/site.js, for pages of the site that no gateway sees.
func SiteScript(c echo.Context) error { return sendScript(c, siteJS) }

// WorkScript answers GET /traffic/work.js, for the page: the script that does the work of a challenge, of which the page makes a worker.
func WorkScript(c echo.Context) error { return sendScript(c, work) }

var work = js.WorkFunction()

func sendScript(c echo.Context, text string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300")
	return c.Blob(http.StatusOK, "text/javascript; charset=utf-8", []byte(text))
}

// New returns the page, which joins by w and polls by e. inside reports whether a request shows that its visitor need not wait. An
// error means that the program's own texts or template are broken.
func New(w *wait.Service, e *entry.Service, zones *zones.Zones, inside func(zoneID string, header http.Header) bool) (*HTTP, error) {
	l, t, err := parts()
	if err != nil {
		return nil, err
	}
	return &HTTP{wait: w, entry: e, zones: zones, inside: inside, locales: l, page: t}, nil
}

// Get answers GET /wait/:zoneId. It polls the place in the cookie, or joins if there is none.
func (h *HTTP) Get(c echo.Context) error {
	// A page that a browser fetches in advance must not take a place. Neither must one that another
	// site loads as an image or in a frame, which nobody sees. cors.Policy.Check does not stop these:
	// it looks at POST alone.
	// Nobody waits behind a crawler, and a 200 with noindex would take the page that led here out of the index.
	if crawls := Crawls(c.Request().UserAgent()); crawls || !opened(c.Request().Header) {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store") // some CDNs serve a 503 from their cache
		if crawls {
			c.Response().Header().Set(echo.HeaderRetryAfter, CrawlersComeAgain)
		}
		return c.NoContent(http.StatusServiceUnavailable)
	}
	ctx, zoneID := c.Request().Context(), c.Param("zoneId")
	q := c.QueryParams() // which echo reads once
	// ingress-nginx leads here by itself, with the whole address of a visitor whose pass the gate has refused.
	if to, shown := TakeOut(q.Get("to"), PassParameter); shown != "" && !q.Has(CookielessParameter) {
		q.Set("to", to)
		q.Set(AgainParameter, "1")
		q.Set(RefusedParameter, Refused(shown))
	}
	if q.Has(AgainParameter) || q.Has(TicketParameter) {
		return h.reseat(c, zoneID, q)
	}
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		return h.show(c, h.view(c, nil, nil, err, ""))
	}
	settings := *z.Settings()
	seat := readCookie(c.Request(), zoneID)
	switch {
	case c.QueryParam(CookielessParameter) != "":
		return h.show(c, h.without(c, settings, target(c.QueryParam("to"), settings.Sites)))
	case h.inside(zoneID, c.Request().Header):
		return lead(c, target(c.QueryParam("to"), settings.Sites))
	case seat.client == "":
		set(c, keyCookie(randomHex(), 60))
		if c.QueryParam(reloadedParameter) == "" {
			return lead(c, with(c, reloadedParameter))
		}
		return h.show(c, h.without(c, settings, ""))
	}
	return h.seat(c, z, seat, false)
}

// seat shows what becomes of a visitor who has a place, or asks for one, and leads on whose turn it is. acts says that the visitor
// has pressed the button of an invitation.
func (h *HTTP) seat(c echo.Context, z *zones.Zone, seat seat, acts bool) error {
	a, err := h.ask(c.Request(), c, z, &seat, acts)
	zoneID := z.ID()
	v := h.view(c, z, &a, err, "")
	if cookie := unsolved(zoneID, err); cookie != nil && v.Scriptless == "" {
		set(c, cookie)
	}
	if err == nil {
		seat.token, seat.used = a.Token, v.Go != "" // a visitor who comes back gets the admission again, or a new place
	}
	seat.write(c, zoneID)
	switch {
	case acts && err == nil:
		// No redirect: Chromium holds all that follow a form's answer against form-action, also those of the site.
		c.Response().Header().Set("Refresh", "0; url="+cmp.Or(string(v.Go), "?"+own(c).Encode()))
		v.RefreshSeconds = 0
		return h.show(c, v)
	case v.Go != "":
		return lead(c, string(v.Go))
	}
	v.Reloaded = with(c, reloadedParameter)
	return h.show(c, v)
}

// lead leads the browser to an address.
func lead(c echo.Context, to string) error {
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	return c.Redirect(http.StatusSeeOther, to)
}

// without returns the page for a browser that keeps no cookies. The browser has no place: each time that it loads the page it would
// take another. Its script takes one, and gives it up with the page. If enter is not "", the visitor was admitted already, and
// needs nothing but cookies.
func (h *HTTP) without(c echo.Context, settings zone.Settings, enter string) *view {
	accept := accepted(c.Request())
	v := &view{
		locale: h.locales.choose(accept), settings: settings, State: cookieless, status: http.StatusForbidden,
		Go: template.URL(enter), Again: with(c, AgainParameter), // target has checked it
	}
	if enter == "" {
		v.status, v.RefreshSeconds, v.Reloaded, v.Data.PollAfter = http.StatusOK, cookielessSeconds, with(c, reloadedParameter), 1
	}
	v.finish(accept)
	return v
}

// view returns what the page shows after a join or a poll in the zone, which was answered with a or err. z is nil if the zone is not
// known. shown is the range that the visitor sees, as view.Range; "" for none.
func (h *HTTP) view(c echo.Context, z *zones.Zone, a *answer.Answer, err error, shown string) *view {
	accept, settings := accepted(c.Request()), zone.Settings{ZoneID: c.Param("zoneId")}
	if z != nil {
		settings = *z.Settings()
	}
	v := &view{locale: h.locales.choose(accept), settings: settings, Again: with(c, AgainParameter)}
	is, invited := errors.AsType[*invitedError](err)
	switch {
	case invited:
		if v.State, v.Accept = invitation, with(c, JoinParameter); is.underWay {
			v.Text = v.text("movesText")
		}
	case err != nil:
		if v.refuse(err, accept); v.State == closed && z != nil {
			h.shut(c.Request().Context(), z, v, accept)
		}
	case a.CanEnter():
		v.State, v.Text = turn, v.text("turnText", "duration", v.duration(settings.PassTTL()))
		v.Go = template.URL(WithPass(target(c.QueryParam("to"), settings.Sites), a.Pass)) // target has checked it
	default:
		v.waiting(a, shown, accept)
	}
	v.finish(accept)
	return v
}

// Post answers POST /wait/:zoneId: a join or a poll of the script, in JSON, or else a button.
func (h *HTTP) Post(c echo.Context) error {
	if !ofScript(c) {
		return h.press(c)
	}
	ctx, zoneID, n := c.Request().Context(), c.Param("zoneId"), wait.Newcomer{ClientAgent: clientAgent}
	var token, shown string
	if err := answer.Receive(c,
		answer.Field{Name: "token", Value: &token}, answer.Field{Name: "clientId", Value: &n.ClientID},
		answer.Field{Name: "ticket", Value: &n.Ticket}, answer.Field{Name: "challenge", Value: &n.Challenge},
		answer.Field{Name: "range", Value: &shown},
	); err != nil {
		return err
	}
	var a answer.Answer
	z, err := h.zones.Find(ctx, zoneID)
	switch {
	case err != nil:
	case token != "":
		a, err = h.poll(ctx, z, token, c)
	default:
		a, err = h.join(c.Request(), c, z, n)
	}
	var told strings.Builder
	if err := h.page.ExecuteTemplate(&told, "told", h.view(c, z, &a, err, shown)); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err != nil {
		return &shownError{error: err, html: told.String()}
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store") // it holds a token
	body := append(bytes.TrimSuffix(a.AppendJSON(nil), []byte("}\n")), `,"html":`...)
	if body, err = jsontext.AppendQuote(body, told.String()); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return c.JSONBlob(http.StatusOK, append(body, '}'))
}

// ofScript reports whether the request is the script's, in JSON. A proxy on its way may have added a charset.
func ofScript(c echo.Context) bool {
	kind, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	return strings.EqualFold(strings.TrimSpace(kind), echo.MIMEApplicationJSON)
}

// opened reports whether a visitor opens the page and sees it. Where a service worker of the site fetches the
// page for the visitor, the browser says the destination "empty", and yet the mode "navigate".
func opened(header http.Header) bool {
	dest := header.Get("Sec-Fetch-Dest")
	return !InAdvance(header) &&
		(dest == "" || dest == "document" || dest == "empty" && header.Get("Sec-Fetch-Mode") == "navigate")
}

// press answers a button of a page without a script: that of an invitation takes a place, the other gives the place up.
func (h *HTTP) press(c echo.Context) error {
	zoneID := c.Param("zoneId")
	seat := readCookie(c.Request(), zoneID)
	z, err := h.zones.Find(c.Request().Context(), zoneID)
	switch {
	case err != nil:
		return h.Refuse(c, err)
	case c.QueryParam(JoinParameter) == "":
		return h.leave(c, z, seat)
	case seat.client == "": // its minute is over
		seat.client = randomHex()
	}
	return h.seat(c, z, seat, true)
}

// leave gives the place up.
func (h *HTTP) leave(c echo.Context, z *zones.Zone, seat seat) error {
	if seat.waits() {
		held, err := h.entry.Verify(z.ID(), seat.token)
		if err == nil {
			err = h.wait.Leave(c.Request().Context(), z, held)
		}
		if err != nil && !errors.Is(err, token.ErrInvalid) {
			return h.Refuse(c, err)
		}
	}
	seat.token, seat.used = "", false
	seat.write(c, z.ID())
	accept := accepted(c.Request())
	v := &view{locale: h.locales.choose(accept), settings: *z.Settings(), State: left, Again: with(c, AgainParameter)}
	v.finish(accept)
	return h.show(c, v)
}

// Refuse answers a request that cannot be served now with a page that says why. If it helps to come again, the
// browser loads the address again by itself. The page has no script, since the script would poll, and so never do what
// the address asks for, such as again=1. The script of a page gets err as it is.
func (h *HTTP) Refuse(c echo.Context, err error) error {
	if ofScript(c) {
		return err
	}
	v := h.view(c, nil, nil, err, "")
	v.Again = ""
	if v.RefreshSeconds > 0 {
		seconds := strconv.FormatInt(v.RefreshSeconds, 10)
		c.Response().Header().Set(echo.HeaderRetryAfter, seconds)
		c.Response().Header().Set("Refresh", seconds)
		v.RefreshSeconds = 0
	}
	return h.show(c, v)
}

// show sends the page.
func (h *HTTP) show(c echo.Context, v *view) error {
	if v.Data.PollAfter == 0 {
		v.Data.PollAfter = 1000 * v.RefreshSeconds
	}
	v.Data.Secure, v.Data.Ticket = c.Scheme() == "https", readTicket(c.Request(), v.settings.ZoneID)
	header := c.Response().Header()
	scripts, frames := providers(v.settings.Challenge)
	v.prepare(header, scripts, "connect-src 'self'"+frames+"; frame-src"+cmp.Or(frames, " 'none'")+
		"; worker-src blob:; form-action 'self'; frame-ancestors 'none'")
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set(echo.HeaderVary, "Accept-Language, Cookie")
	header.Set("Referrer-Policy", "same-origin") // under no-referrer, some browsers send the form with Origin: null
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	header.Set("X-Robots-Tag", "noindex")
	if v.status == 0 {
		v.status = http.StatusOK
	}
	if v.RefreshSeconds > 0 && v.status != http.StatusOK {
		header.Set(echo.HeaderRetryAfter, fmt.Sprint(v.RefreshSeconds))
	}
	c.Response().WriteHeader(v.status)
	return h.page.Execute(c.Response(), v)
}

// prepare fills in what the document has around the part "told", and sets the header's content type, language and policy. scripts
// are sources of scripts beside the page's own, may is the rest of the Content-Security-Policy.
func (v *view) prepare(header http.Header, scripts, may string) {
	v.Nonce = randomHex()
	v.Look.paint(v.settings, v.accept)
	v.CSS, v.JS = v.Look.style(), template.JS(script)
	v.Data.Zone, v.Data.Lang, v.Data.Texts = v.settings.ZoneID, v.tag.String(), v.texts.Said
	header.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	header.Set("Content-Language", v.code)
	header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'nonce-"+v.Nonce+"'"+scripts+"; style-src 'nonce-"+v.Nonce+
		"'; img-src data:"+images(v.settings)+"; base-uri 'none'; "+may)
}

// accepted returns the languages that a browser wants.
func accepted(r *http.Request) string { return r.Header.Get("Accept-Language") }

// script is the page's script: the client of clients/js, with its exports made plain functions, and page.js.
var script = strings.ReplaceAll(js.Source, "export ", "") + pageJS

// with returns the page's own address with a parameter, whose value is 1.
func with(c echo.Context, parameter string) string {
	q := own(c)
	q.Set(parameter, "1")
	return "?" + q.Encode()
}

// own are the parameters that stay in the page's own address. Others do not: thousands of them would make a page dear.
func own(c echo.Context) url.Values {
	q := url.Values{}
	for _, name := range []string{"to", reloadedParameter, CookielessParameter} {
		if value := c.QueryParam(name); value != "" {
			q.Set(name, value)
		}
	}
	return q
}

const (
	// clientAgent is the kind of client that the page is.
	clientAgent = "PAGE"
	// cookiePrefix begins the name of the place's cookie; the zone follows.
	cookiePrefix = "waitingroom-"
	// cookieSeconds is how long a browser keeps it: longer than any line.
	cookieSeconds = 7 * 86_400
	// clientBytes is how many random bytes a clientId has that the page makes. It is written as hexadecimal digits.
	clientBytes = 16
)

// The query parameters of links to the page, besides `to`. The page acts on the first three
// once, and then redirects to its address without them.
const (
	// AgainParameter asks for a new place. It replaces the one in the cookie, unless that may still be in the line, or has a
	// pass that is good.
	AgainParameter = "again"
	// RefusedParameter goes with AgainParameter: what Refused returns for a pass that the gate did not take.
	RefusedParameter = "refused"
	// JoinParameter is in the address to which the button of an invitation posts.
	JoinParameter = "join"
	// TicketParameter hands over a ticket, which is then kept in a cookie of its own: see package ticket.
	TicketParameter = "ticket"
	// reloadedParameter is in the address at which a browser without scripts loads the page again. A browser that
	// then comes without the cookie keeps no cookies.
	reloadedParameter = "reloaded"
	// CookielessParameter says that the gate gave the browser a cookie, which did not come back. The address in `to` has the
	// pass, which was not used.
	CookielessParameter = "cookieless"
)

// cookielessSeconds is after how long a browser without scripts tries again whether it keeps cookies.
const cookielessSeconds = 30

// Refused returns what the page is told of a pass that the gate did not take, by which it knows the pass and nobody gets it.
func Refused(pass string) string {
	sum := sha256.Sum256([]byte(pass))
	return hex.EncodeToString(sum[:8])
}

// write sets the place's cookie in the place of those of keyCookie.
func (s seat) write(c echo.Context, zoneID string) {
	for _, client := range readKeys(c.Request()) {
		set(c, keyCookie(client, -1))
	}
	set(c, s.cookie(zoneID))
}

// set sets a cookie on the page's own path.
func set(c echo.Context, cookie *http.Cookie) {
	cookie.Path, cookie.SameSite, cookie.Secure = c.Request().URL.Path, http.SameSiteLaxMode, c.Scheme() == "https"
	c.SetCookie(cookie)
}

// reseat does what AgainParameter and TicketParameter ask for. Anybody can post a link with these, so none of them takes away a
// place that waits or a pass that is good.
func (h *HTTP) reseat(c echo.Context, zoneID string, q url.Values) error {
	ctx, s := c.Request().Context(), readCookie(c.Request(), zoneID)
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		z = nil // then the place is kept
	}
	if s.token != "" && q.Has(AgainParameter) && z != nil && !h.keeps(ctx, z, s, q.Get(RefusedParameter), c) {
		s = s.next()
		s.write(c, zoneID)
	}
	shown := q.Get(TicketParameter)
	if shown != "" && len(shown) <= ticket.MaxTicket && h.wait.Displaces(zoneID, z, shown, readTicket(c.Request(), zoneID)) {
		set(c, &http.Cookie{Name: ticketPrefix + zoneID, Value: shown, MaxAge: cookieSeconds, HttpOnly: true})
	}
	return lead(c, "?"+own(c).Encode())
}

// Head answers HEAD /wait/:zoneId, by which programs ask whether a link leads anywhere. It takes no place.
func Head(c echo.Context) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set("X-Robots-Tag", "noindex")
	return c.NoContent(http.StatusOK)
}
