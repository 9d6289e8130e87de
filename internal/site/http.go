package site

import (
	"context"
	"mime"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Values of header fields, shared by all answers. Their capacity is their length, so an append by a
// middleware copies them.
var (
	problemType = []string{refusal.ContentType}
	noStore     = []string{"no-store"}
	private     = []string{"private, no-store"}
	// comeAgain has a browser load the page again, in seconds.
	comeAgain         = []string{"3"}
	crawlersComeAgain = []string{page.CrawlersComeAgain}
	// othersComeAgain is for whoever else cannot wait, in seconds.
	othersComeAgain   = []string{"60"}
	allowed           = []string{"true"}
	exposed           = []string{SessionHeader}
	exposedOfRefusals = []string{"Retry-After"}
)

// refresh is no standard's, but known to all browsers.
const refresh = "Refresh"

// allow lets the page of an origin that the zone names read a refusal (CORS).
func (v *verdict) allow(h http.Header) {
	if v.origin != "" {
		h[echo.HeaderAccessControlAllowOrigin], h[echo.HeaderAccessControlAllowCredentials] = []string{v.origin}, allowed
		h[echo.HeaderAccessControlExposeHeaders] = exposedOfRefusals
	}
}

// forwarded is the origin of a gateway's question.
type forwarded struct {
	echo.Context
	proxies []netip.Prefix
}

// Told returns the address if a trusted proxy tells it.
func (f forwarded) Told() (netip.Addr, bool) { return address.Told(f.Request(), f.proxies) }

// Ask answers any method of /site/:zoneId and of all paths below it. It does not read the body.
func (s *Service) Ask(c echo.Context) error {
	r, zoneID := c.Request(), c.Param("zoneId")
	q, err := readRequest(r)
	if q.nginx && r.Method != http.MethodHead {
		c.Response().Writer = &toNginx{ResponseWriter: c.Response().Writer}
	}
	if unknown := answer.CheckZoneID(zoneID); unknown != nil {
		err = unknown
	}
	if err != nil {
		s.Meter.Site(zoneID, outUnreadable)
		if z := s.Zones.Known(zoneID); z != nil && z.Settings().SiteGate == zone.GateObserve {
			return c.NoContent(http.StatusOK)
		}
		return err
	}
	q.visitor = forwarded{c, s.Proxies}
	v := s.ask(r.Context(), zoneID, &q)
	res := c.Response()
	status, document := s.answer(res.Header(), zoneID, &q, &v)
	switch {
	case v.err != nil:
		return v.err
	case v.location != "" && q.nginx:
		status = http.StatusUnauthorized
	}
	res.WriteHeader(status)
	if r.Method == http.MethodHead || document == nil {
		return nil
	}
	_, err = res.Write(document)
	return err
}

// answer puts the fields of an answer to q into its header, and returns its status and the document of a refusal. A request goes on
// with the status 200. An error, which has no status here, is answered by its refusal.
func (s *Service) answer(header http.Header, zoneID string, q *request, v *verdict) (status int, document []byte) {
	if v.err != nil {
		v.allow(header)
		if q.reads() && q.navigates() {
			header[refresh] = comeAgain
		}
		return 0, nil
	}
	// A gateway may cache answers for a time of its own, as nginx does with proxy_cache_valid, and would then let in
	// everybody who asks for the same page. Envoy caches nothing, but adds the header to the shop's answer. No cache before
	// Envoy may keep one with a session or a key, whatever the shop says to CDNs. One without stays without the header, as
	// caches may keep what the shop allows.
	switch {
	case v.keep != keep{}:
		header[echo.HeaderCacheControl], header["Cdn-Cache-Control"], header["Surrogate-Control"] = private, noStore, noStore
		v.keep.set(header, zoneID, q)
	case !q.below || v.location != "" || v.refused != 0:
		header[echo.HeaderCacheControl] = noStore
	}
	if v.keep.names == nil && v.keep.text != "" && v.origin != "" { // all else that CORS needs is in the shop's own answer
		header[echo.HeaderAccessControlExposeHeaders] = exposed
	}
	switch {
	case v.location != "":
		header.Set(echo.HeaderLocation, v.location)
		return http.StatusFound, nil
	case v.refused != 0:
		v.allow(header)
		if header[echo.HeaderRetryAfter] = othersComeAgain; v.refused == http.StatusServiceUnavailable {
			header[echo.HeaderRetryAfter] = crawlersComeAgain
		}
		header[echo.HeaderContentType] = problemType
		return v.refused, s.appendRefusal(nil, zoneID, v.refused)
	}
	return http.StatusOK, nil
}

// Visit is a visitor's request, as a gateway in this process tells it.
type Visit struct {
	// Method, URI and Host are the visitor's. URI is path and query as they are sent on to the site.
	Method, URI, Host string
	// Secure says that the visitor came by TLS.
	Secure bool
	// Header is the visitor's. None of the other values is read from it.
	Header http.Header
	// From has the visitor's address.
	From Origin
}

// Decision says what becomes of a visitor's request.
type Decision struct {
	// Status is 200 if the request goes on. If it does not, it is that of the answer, or 0 if Err is the answer, by its refusal.
	Status int
	Err    error
	// Header are fields of the answer. If the request goes on, they replace those of the site's answer; Set-Cookie is added.
	Header http.Header
	// Document is the problem document of a refusal, nil for none.
	Document []byte
	// Admission is that of the visitor's session, zero without one.
	Admission [16]byte
	// Steers: by the site's answer the autopilot of the zone steers. It is one to a session, and not on a path that is never queued.
	Steers bool
}

// Decide decides about a visitor's request, and counts its outcome. The zone's name must be well-formed.
func (s *Service) Decide(ctx context.Context, zoneID string, visit *Visit) Decision {
	q := request{
		below: true, method: visit.Method, uri: visit.URI, host: visit.Host, secure: visit.Secure, header: visit.Header, visitor: visit.From,
	}
	v := s.ask(ctx, zoneID, &q)
	d := Decision{Err: v.err, Header: http.Header{}, Admission: v.admission, Steers: v.steers}
	d.Status, d.Document = s.answer(d.Header, zoneID, &q, &v)
	return d
}

// toNginx writes an answer as nginx's auth_request can read it, which knows 2xx, 401 and 403 alone, and drops the body: in
// place of any other status 403, with the status and the document in headers. Only what has a document is changed.
type toNginx struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the status if auth_request knows it. Else the document follows.
func (w *toNginx) WriteHeader(status int) {
	if status < http.StatusBadRequest || status == http.StatusUnauthorized {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.status = status
}

// Write is called once, with the whole document.
func (w *toNginx) Write(document []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(document)
	}
	h := w.Header()
	h.Del(echo.HeaderContentLength)
	h.Del(echo.HeaderContentType)
	h.Set(StatusHeader, strconv.Itoa(w.status))
	h.Set(ProblemHeader, string(document))
	w.ResponseWriter.WriteHeader(http.StatusForbidden)
	return len(document), nil
}

// told reports whether a service reports something to the room: the request has a body in JSON, which no gateway's question has.
func told(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	return err == nil && kind == echo.MIMEApplicationJSON && r.ContentLength != 0
}

// Here is POST /site/{zoneId}/here, by a service that verifies passes by itself: the visitor with the jti of a pass is inside for
// as long as a session.
func (s *Service) Here(c echo.Context) error {
	r, zoneID := c.Request(), c.Param("zoneId")
	if !told(r) {
		return s.Ask(c)
	}
	var jti string
	err := answer.CheckZoneID(zoneID)
	if err == nil {
		err = answer.Receive(c, answer.Field{Name: "jti", Value: &jti})
	}
	if err != nil {
		return err
	}
	z, err := s.Zones.Find(r.Context(), zoneID)
	if err != nil {
		return err
	}
	admission, err := readJTI(zoneID, jti)
	if err != nil {
		return err
	}
	now := s.Now()
	until := reported(z, admission, now)
	over := !until.After(now)
	if !over {
		over, _ = z.Here(admission, until)
	}
	if over {
		return &serve.FieldError{Field: "jti", Reason: "names an admission that is done, over or revoked"}
	}
	return c.NoContent(http.StatusNoContent)
}

// Done is POST /site/{zoneId}/done, by the shop's backend: a visitor inside is done. A session, a pass or the jti of a pass names the
// visitor. Behind Envoy, a visitor may ask the shop for that path: such a request has no body here.
func (s *Service) Done(c echo.Context) error {
	r, zoneID := c.Request(), c.Param("zoneId")
	if !told(r) {
		return s.Ask(c)
	}
	var session, pass, jti string
	err := answer.CheckZoneID(zoneID)
	if err == nil {
		err = answer.Receive(c, answer.Field{Name: "session", Value: &session}, answer.Field{Name: "pass", Value: &pass}, answer.Field{Name: "jti", Value: &jti})
	}
	if err != nil {
		return err
	}
	admission, err := s.admissionOf(zoneID, session, pass, jti)
	if err != nil {
		return err
	}
	z, err := s.Zones.Find(r.Context(), zoneID)
	if err != nil {
		return err
	}
	s.Room.Used(z.ID(), admission)
	known, err := z.Done(r.Context(), admission, jti != "")
	switch {
	case err != nil:
		return err
	case !known:
		return &serve.FieldError{Field: "jti", Reason: "is of no visitor inside this zone"}
	}
	return c.NoContent(http.StatusNoContent)
}

// edgeSession is the answer to a gate at a CDN's edge.
type edgeSession struct {
	ZoneID  string `json:"zoneId"`
	Session string `json:"session"`
	// ExpiresAt is in Unix milliseconds.
	ExpiresAt int64 `json:"expiresAt"`
}

// Session is POST /traffic/session on the public listener, by a gate at a CDN's edge, which keeps sessions of its own: it gives a
// session for a pass, once, as the gate does here; and a new one for one of which half is over, so that the visitor counts as inside.
func (s *Service) Session(c echo.Context) error {
	var zoneID, shown, key, tok, session string
	err := answer.Receive(c, answer.Field{Name: "zoneId", Value: &zoneID}, answer.Field{Name: "pass", Value: &shown}, answer.Field{Name: "key", Value: &key},
		answer.Field{Name: "token", Value: &tok}, answer.Field{Name: "session", Value: &session})
	if err == nil {
		err = answer.CheckZoneID(zoneID)
	}
	if err == nil {
		err = answer.CheckLength("key", key, maxKey)
	}
	if err == nil && (shown == "") == (session == "") {
		err = &serve.FieldError{Field: "pass and session", Reason: "one of them must be there"}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), within)
	defer cancel()
	z, err := s.Zones.Find(ctx, zoneID)
	if err != nil {
		return answer.InZone(zoneID, err)
	}
	now, at := s.Now(), place{*z.Settings(), z}
	var (
		is      token.Session
		outcome string
	)
	if session != "" {
		is, outcome, err = s.renewFor(ctx, at, session, now)
	} else {
		is, outcome, err = s.exchangeFor(ctx, at, shown, key, tok, now)
	}
	if err != nil {
		s.Meter.Site(zoneID, outcomeOf(err))
		return answer.InZone(zoneID, err)
	}
	s.Meter.Site(zoneID, outcome)
	ends := is.Issued.Add(is.Length)
	z.Here(is.Admission, ends)
	c.Response().Header()[echo.HeaderCacheControl] = noStore
	return c.JSON(http.StatusOK, edgeSession{ZoneID: zoneID, Session: s.Keys.SignSession(zoneID, is), ExpiresAt: ends.UnixMilli()})
}

// EndSession is POST /traffic/session/end on the public listener: the visitor with this session is done, as with a path of
// donePaths.
func (s *Service) EndSession(c echo.Context) error {
	var zoneID, session string
	err := answer.Receive(c, answer.Field{Name: "zoneId", Value: &zoneID}, answer.Field{Name: "session", Value: &session})
	if err == nil {
		err = answer.CheckZoneID(zoneID)
	}
	if err != nil {
		return err
	}
	is, err := s.Keys.VerifySession(zoneID, session)
	if err == nil && is.Good(s.Now()) {
		var z *zones.Zone
		if z, err = s.Zones.Find(c.Request().Context(), zoneID); err == nil {
			_, err = z.Done(c.Request().Context(), is.Admission, false)
		}
	}
	if err != nil {
		return answer.InZone(zoneID, err)
	}
	return c.NoContent(http.StatusNoContent)
}
