package page

import (
	"context"
	"crypto/rand"
	_ "embed" // the page's files
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/clients/js"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Zones knows how a zone is set.
type Zones interface {
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
}

// HTTP serves the page. Its methods may be called from any number of goroutines.
type HTTP struct {
	wait    *wait.Service
	entry   *entry.Service
	zones   Zones
	locales *locales
	page    *template.Template
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// New returns the page over these rooms.
func New(w *wait.Service, e *entry.Service, zones Zones) (*HTTP, error) {
	l, err := readLocales(localeFiles)
	if err != nil {
		return nil, err
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return &HTTP{wait: w, entry: e, zones: zones, locales: l, page: t}, nil
}

// Get is GET /wait/:zoneId. It joins, or polls the place of the cookie.
func (h *HTTP) Get(c echo.Context) error {
	// A page that is only fetched in advance must take nobody's place; nor must one that another
	// site has as an image or in a frame, which its readers do not see: cors.Policy.Check is for POST.
	if !opened(c.Request().Header) {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store") // some CDNs answer visitors with a 503 of before
		return c.NoContent(http.StatusServiceUnavailable)
	}
	ctx, zoneID := c.Request().Context(), c.Param("zoneId")
	if q := c.Request().URL.Query(); q.Has(AgainParameter) || q.Has(TokenParameter) || q.Has(TicketParameter) {
		return h.reseat(c, zoneID, q)
	}
	l := h.locales.choose(accepted(c.Request()))
	v := &view{Again: with(c, AgainParameter)}
	v.Data.Ticket = readTicket(c, zoneID)
	settings, err := h.zones.Zone(ctx, zoneID)
	if err != nil {
		v.refuse(err, accepted(c.Request()))
		v.Data.Reload = true
		return h.show(c, l, v, zone.Settings{ZoneID: zoneID})
	}
	to := target(c.QueryParam("to"), settings.Sites)
	v.Data.Target = to
	seat := readCookie(c, zoneID)
	v.Reloaded = with(c, reloadedParameter) // it has a cookie from now on
	v.Cookieless = seat.client == "" && c.QueryParam(reloadedParameter) != ""
	a, err := h.ask(ctx, c, zoneID, &seat)
	if err != nil {
		seat.write(c, zoneID)
		v.refuse(err, accepted(c.Request()))
		if v.State == closed {
			h.shut(ctx, v, l, settings, accepted(c.Request()))
		}
		return h.show(c, l, v, settings)
	}
	there := ""
	if seat.token = a.Token; a.CanEnter() {
		there = withPass(to, a.Pass)
	}
	seat.used = there != "" // who comes back finds the admission, or a new place
	seat.write(c, zoneID)
	if a.CanEnter() {
		if there != "" {
			c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
			return c.Redirect(http.StatusSeeOther, there)
		}
		v.State, v.Text = turn, fill(l.texts.TurnText, "duration", l.duration(settings.PassTTL()))
		return h.show(c, l, v, settings)
	}
	if a.Line.HighMillis > 0 {
		v.Data.Range = &interval{a.Line.LowMillis, a.Line.HighMillis}
	}
	v.State, v.Seated, v.Wait = inLine, true, l.wait(a.Line.EstimateMillis, v.Data.Range)
	v.Text = l.texts.Reasons[a.Line.Reason.String()]
	if a.Line.Reason == line.OnHold {
		v.State, v.Wait = paused, l.texts.Long
	}
	if a.Line.Position > 0 {
		v.Place = l.number(float64(a.Line.Position))
	}
	v.gathered(l, settings, &a, accepted(c.Request()))
	v.RefreshSeconds = a.RetryAfterSeconds()
	v.Data.PollAfter, v.Data.Position, v.Data.Estimate = a.Line.PeriodMillis, a.Line.Position, a.Line.EstimateMillis
	return h.show(c, l, v, settings)
}

// opened reports whether somebody opens the page, and sees it. What a site's service worker fetches for
// one who does is empty, and yet navigates.
func opened(header http.Header) bool {
	dest := header.Get("Sec-Fetch-Dest")
	return !strings.Contains(header.Get("Sec-Purpose"), "prefetch") &&
		(dest == "" || dest == "document" || dest == "empty" && header.Get("Sec-Fetch-Mode") == "navigate")
}

// Leave is POST /wait/:zoneId: the button for browsers without the script.
func (h *HTTP) Leave(c echo.Context) error {
	zoneID := c.Param("zoneId")
	seat := readCookie(c, zoneID)
	if seat.waits() {
		if err := h.wait.Leave(c.Request().Context(), zoneID, seat.token); err != nil && !errors.Is(err, token.ErrInvalid) {
			return h.Refuse(c, err)
		}
	}
	seat.token, seat.used = "", false
	seat.write(c, zoneID)
	l := h.locales.choose(accepted(c.Request()))
	settings, err := h.zones.Zone(c.Request().Context(), zoneID)
	if err != nil {
		return err
	}
	return h.show(c, l, &view{State: left, Again: with(c, AgainParameter)}, settings)
}

// Refuse shows one for whom nothing can be done now a page that browsers load again by themselves. It has no
// script: what the address asks for, such as again=1, is still to be done.
func (h *HTTP) Refuse(c echo.Context, err error) error {
	l, v := h.locales.choose(accepted(c.Request())), &view{}
	if v.refuse(err, accepted(c.Request())); v.RefreshSeconds > 0 {
		seconds := strconv.FormatInt(v.RefreshSeconds, 10)
		c.Response().Header().Set(echo.HeaderRetryAfter, seconds)
		c.Response().Header().Set("Refresh", seconds)
		v.RefreshSeconds = 0
	}
	return h.show(c, l, v, zone.Settings{ZoneID: c.Param("zoneId")})
}

// ask polls the place of the cookie, or joins where there is none.
func (h *HTTP) ask(ctx context.Context, c echo.Context, zoneID string, s *seat) (answer.Answer, error) {
	if s.token != "" {
		a, err := h.entry.Poll(ctx, zoneID, s.token)
		if !errors.Is(err, token.ErrInvalid) && (!s.used || !errors.Is(err, entry.ErrGone)) {
			return a, err
		}
		s.token, s.used = "", false // of another installation, or of an old secret; or an admission that is over
	}
	if s.client == "" {
		*s = newSeat()
	}
	n := wait.Newcomer{ZoneID: zoneID, ClientID: s.client, ClientAgent: "PAGE", Ticket: readTicket(c, zoneID)}
	return h.wait.Join(ctx, n.From(c.RealIP(), c.Request().Header))
}

// show sends the page.
func (h *HTTP) show(c echo.Context, l *locale, v *view, settings zone.Settings) error {
	v.Data.PassParameter, v.Data.Secure = PassParameter, c.Scheme() == "https"
	header := c.Response().Header()
	v.prepare(header, l, settings, accepted(c.Request()), "connect-src 'self'; worker-src blob:; form-action 'self'; frame-ancestors 'none'")
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set(echo.HeaderVary, "Accept-Language, Cookie")
	header.Set("Referrer-Policy", "same-origin") // with none, some browsers say of the form no more than that its origin is null
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

// prepare fills in what all pages have, and says in the header what this one is and may do.
func (v *view) prepare(header http.Header, l *locale, settings zone.Settings, accept, may string) {
	nonce := make([]byte, clientBytes)
	_, _ = rand.Read(nonce) // never fails
	v.Nonce = hex.EncodeToString(nonce)
	v.Lang, v.Dir, v.Texts, v.Look = l.code, l.dir(), &l.texts, lookOf(settings, accept)
	heading, text := l.texts.of(v.State)
	if v.Heading = heading; v.Text == "" {
		v.Text = text
	}
	v.Keep, v.CheckText = fill(l.texts.Keep, "duration", l.duration(settings.IdleTimeout())), fill(l.texts.CheckText, "size", checkSize)
	if v.Cookieless {
		v.Keep = l.texts.Cookies
	}
	v.CSS, v.JS = template.CSS(pageCSS)+v.Look.Accent, template.JS(script)
	v.Data.Zone, v.Data.Lang, v.Data.State, v.Data.Texts = settings.ZoneID, l.tag.String(), v.State, &l.texts
	v.Data.Notice = settings.Notice()
	header.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	header.Set("Content-Language", l.code)
	header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'nonce-"+v.Nonce+"'; style-src 'nonce-"+v.Nonce+
		"'; img-src data:; base-uri 'none'; "+may)
}

// Preview shows how the page looks with these settings, to an operator's console alone:
// it has no script, and nothing on it can be used.
func (h *HTTP) Preview(w http.ResponseWriter, r *http.Request, settings zone.Settings) error {
	const place, low, high = 1_234, 10 * time.Minute, 15 * time.Minute
	l := h.locales.choose(accepted(r))
	v := &view{State: inLine, Seated: true, Place: l.number(place), Wait: l.ranged(rounded{low.Minutes(), high.Minutes(), time.Minute})}
	if len(settings.SoldOut) > 0 {
		v = &view{State: soldOut, Text: serve.TextFor(settings.SoldOut, accepted(r))}
	}
	v.prepare(w.Header(), l, settings, accepted(r), "sandbox; frame-ancestors 'self'")
	w.Header().Set("X-Frame-Options", "SAMEORIGIN")
	return h.page.Execute(w, v)
}

// accepted are the languages that a browser wants.
func accepted(r *http.Request) string { return r.Header.Get("Accept-Language") }

// script is the client, which is a module of its own for others, and the page's.
var script = strings.ReplaceAll(js.Source, "export ", "") + pageJS

// with is the page's own address with a parameter.
func with(c echo.Context, parameter string) string {
	q := c.Request().URL.Query()
	q.Set(parameter, "1")
	return "?" + q.Encode()
}

const (
	// cookiePrefix is before the zone in the cookie's name.
	cookiePrefix = "waitingroom-"
	// cookieSeconds is how long a browser keeps it: longer than any line.
	cookieSeconds = 7 * 86_400
	// clientBytes is the length of a clientId that the page makes.
	clientBytes = 16
)

// seat is what the cookie keeps: the clientId, and the newest token or "". used: the visitor was led on with
// the pass. The token still finds the admission; the clientId does not, where the place was handed over.
type seat struct {
	client, token string
	used          bool
}

// waits reports whether there may be a place in line.
func (s *seat) waits() bool { return s.token != "" && !s.used }

// The query parameters with which somebody leads to the page, besides `to`. The page acts
// on them once, and then shows itself at an address without them.
const (
	// AgainParameter asks for a new place instead of the one that the cookie has.
	AgainParameter = "again"
	// TokenParameter hands a place over that was taken for the visitor: a token of the zone.
	// Who has a place already keeps it, since it is the older one.
	TokenParameter = "token"
	// TicketParameter hands a ticket over, which then is in a cookie of its own: see package ticket.
	TicketParameter = "ticket"
	// reloadedParameter is in the address that a browser without scripts loads the page at again: one that comes
	// without the cookie then keeps none.
	reloadedParameter = "reloaded"
	// handover is how old such a place may be: a redirect on a slow network, with clocks that
	// differ. A link that is posted leads nobody to the place of who posted it.
	handover = time.Minute
)

// ticketPrefix is before the zone in the name of the ticket's cookie. It is longer than a zone's, and
// so no other cookie's of the page.
const ticketPrefix = "waitingroom_ticket-"

// readTicket returns the visitor's invitation, "" for none.
func readTicket(c echo.Context, zoneID string) string {
	cookie, err := c.Cookie(ticketPrefix + zoneID)
	if err != nil || len(cookie.Value) > ticket.MaxTicket {
		return ""
	}
	return cookie.Value
}

// newSeat is that of a browser which has none.
func newSeat() seat {
	id := make([]byte, clientBytes)
	_, _ = rand.Read(id) // never fails
	return seat{client: hex.EncodeToString(id)}
}

// reseat does what the parameters ask for. A link to it, which anybody can post, takes
// nobody's place away.
func (h *HTTP) reseat(c echo.Context, zoneID string, q url.Values) error {
	s := readCookie(c, zoneID)
	if s.client == "" || q.Has(AgainParameter) && !h.waits(c.Request().Context(), zoneID, s) {
		s = newSeat()
	}
	if tok := q.Get(TokenParameter); !s.waits() && h.wait.TakenWithin(zoneID, tok, handover) {
		s.token, s.used = tok, false
	}
	s.write(c, zoneID)
	shown := q.Get(TicketParameter)
	if shown != "" && len(shown) <= ticket.MaxTicket && h.wait.Displaces(c.Request().Context(), zoneID, shown, readTicket(c, zoneID)) {
		c.SetCookie(&http.Cookie{
			Name: ticketPrefix + zoneID, Value: shown, Path: c.Request().URL.Path, MaxAge: cookieSeconds,
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
		})
	}
	q.Del(TicketParameter)
	q.Del(AgainParameter)
	q.Del(TokenParameter)
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	return c.Redirect(http.StatusSeeOther, "?"+q.Encode())
}

// waits reports whether the place may still stand: also where nobody can tell now.
func (h *HTTP) waits(ctx context.Context, zoneID string, s seat) bool {
	if !s.waits() {
		return false
	}
	a, err := h.entry.Poll(ctx, zoneID, s.token)
	if err == nil {
		return !a.CanEnter()
	}
	return !errors.Is(err, entry.ErrGone) && !errors.Is(err, token.ErrInvalid)
}

// readCookie reads the zone's cookie; one that is not as the page wrote it counts as
// none.
func readCookie(c echo.Context, zoneID string) (s seat) {
	cookie, err := c.Cookie(cookiePrefix + zoneID)
	if err != nil {
		return seat{}
	}
	client, token, ok := strings.Cut(cookie.Value, ".")
	if !ok || len(client) != 2*clientBytes {
		return seat{}
	}
	token, _, used := strings.Cut(token, ".")
	return seat{client: client, token: token, used: used}
}

// write sets the cookie, on the page's own path. The script writes it, too.
func (s seat) write(c echo.Context, zoneID string) {
	value := s.client + "." + s.token
	if s.used {
		value += "."
	}
	c.SetCookie(&http.Cookie{
		Name: cookiePrefix + zoneID, Value: value, Path: c.Request().URL.Path, MaxAge: cookieSeconds,
		SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https",
	})
}
