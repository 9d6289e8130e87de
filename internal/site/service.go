package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// TicketParameter is the query parameter of a ticket in links to the site: see package ticket.
const TicketParameter = "waiting_room_ticket"

// AppHeader is the header of a pass, for apps that need Authorization for another service. PlaceHeader is that of the token which
// came with the pass: an app that sends both can repeat a request whose answer got lost.
const (
	AppHeader   = "X-Waiting-Room-Pass"
	PlaceHeader = "X-Waiting-Room-Token"
)

// warnEvery is the least time between two warnings of a zone that does not exist.
const warnEvery = 10 * time.Minute

// Meter counts the outcomes of requests. A zoneID may be one that does not exist.
type Meter interface {
	// Site counts one request by its outcome, one of Outcomes.
	Site(zoneID, outcome string)
}

// Outcomes of a request.
const (
	outSession     = "session"      // has a session
	outRenewed     = "renewed"      // has a session, and got a renewed one
	outAsked       = "asked_again"  // has a pass, and got a key to show with it: whether it keeps cookies is known then
	outCookieless  = "cookieless"   // has a pass, and keeps no cookies
	outExchanged   = "exchanged"    // got a session for a pass
	outPass        = "pass"         // an app showed a pass
	outAdmitted    = "admitted"     // joined, and was admitted with the same answer
	outOpen        = "open"         // the zone lets everybody through
	outBypassed    = "bypassed"     // is never queued
	outZoneUnknown = "zone_unknown" // the zone does not exist, so the request goes on
	outWait        = "sent_to_wait" // a browser was sent to the waiting page
	outPassRefused = "pass_refused" // a browser was sent to the waiting page, because its pass is not good
	outRefused     = "refused"      // anything but a browser was told to join
	outUnreadable  = "unreadable"   // the gateway does not say what the visitor asks for
	outObserved    = "observed"     // would wait or be refused, and goes on, as the gate only observes
	outUnknown     = "unknown"      // the store did not say whether a pass was used before
)

// Outcomes are all outcomes of a request.
var Outcomes = []string{
	outSession, outRenewed, outAsked, outCookieless, outExchanged, outPass, outAdmitted, outOpen, outBypassed, outZoneUnknown, outWait, outPassRefused, outRefused,
	outUnreadable, outObserved, outUnknown,
}

// Dependencies are what a Service is made of. All but Now and Logger are required.
type Dependencies struct {
	Room   *wait.Service
	Zones  *zones.Zones
	Keys   *token.Keys
	Passes *pass.Signer
	Meter  Meter
	// Guard refuses a pass for which a gate at a CDN's edge asks too often.
	Guard *guard.Guard
	// Observed keeps what would wait or be refused, where the gate only observes.
	Observed *observed.Log
	// RoomURL is where visitors reach the public listener: https://queue.shop.example. It is empty
	// if the gateway sends /wait/ and /traffic/ of the site itself to that listener.
	RoomURL string
	// Proxies are the networks of gateways whose word for a visitor's address is taken.
	Proxies []netip.Prefix
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Service decides whether a request goes on. It is safe for concurrent use.
type Service struct {
	Dependencies
	warned atomic.Int64 // Unix seconds
	recent recent
	// lined is when a newcomer last had to line up, by the zone's name.
	lined sync.Map
}

// New returns the gate.
func New(d Dependencies) *Service {
	d.RoomURL = strings.TrimSuffix(d.RoomURL, "/")
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Logger = cmp.Or(d.Logger, slog.New(slog.DiscardHandler))
	return &Service{Dependencies: d}
}

// verdict is the decision about a request.
type verdict struct {
	outcome string
	// err is the answer, if it is not nil.
	err error
	// location is where the browser is led; "" if the request goes on or is refused.
	location string
	// refused is the status of a refusal, 0 if the request is not refused.
	refused int
	// origin is the one whose page sent the request, if the zone names it; "" otherwise.
	origin string
	keep   keep
	// admission is that of the visitor's session, zero without one. unkept is that of a request that goes on without a session.
	admission, unkept [16]byte
	// steers is Decision.Steers.
	steers bool
}

// within bounds how long an answer waits for the store, in all. It is far less than the gateways
// of deploy/site wait for an answer: one of these lets nobody go on without it, not even visitors inside.
const within = 400 * time.Millisecond

// place is a zone and its settings, as a request goes by them. The zone is nil if the store is away and this server has not seen
// the zone: then nobody is known to be inside, and nobody can join.
type place struct {
	zone.Settings
	zone *zones.Zone
}

// over reports whether an admission is done or revoked.
func (p place) over(admission [16]byte) bool { return p.zone != nil && p.zone.Over(admission) }

// ask decides about a request, and counts its outcome. The zone's name must be well-formed.
func (s *Service) ask(ctx context.Context, zoneID string, q *request) verdict {
	now, z := s.Now(), s.Zones.Known(zoneID)
	var moved [][16]byte // a browser may have several sessions: one whose visit has moved does not hide another
	look := func() held {
		return find(s.Keys, zoneID, q.header, now, func(is token.Session) bool { return !slices.Contains(moved, is.Admission) && stays(z, q, is) })
	}
	h := look()
	shown := ""
	if q.reads() && strings.Contains(q.uri, page.PassParameter) && q.navigates() {
		shown = q.takeOut(page.PassParameter)
	}
	v := verdict{outcome: outSession}
	if shown != "" || !h.inside || due(z, h.session, now) || h.key != "" && q.navigates() {
		// Most requests do not come here, and so do without the timer.
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		for over := true; over && h.inside && shown == ""; {
			if v, over = s.renew(ctx, z, q, h, now); over {
				moved = append(moved, h.session.Admission)
				h = look()
			}
		}
		if !h.inside || shown != "" {
			v = s.decide(ctx, zoneID, z, q, shown, h, now)
		}
	}
	if h.inside {
		v.admission = h.session.Admission
		v.steers = z != nil && z.Settings().Pilot != zone.PilotOff && !bypasses(z.Settings(), q)
	}
	s.Meter.Site(zoneID, v.outcome)
	return v
}

// decide decides about a request that shows a pass or has no session. z is nil for a zone that this server does not know yet.
func (s *Service) decide(ctx context.Context, zoneID string, z *zones.Zone, q *request, shown string, h held, now time.Time) verdict {
	at := place{zone: z}
	if at.zone == nil {
		var err error
		switch at.zone, err = s.Zones.Find(ctx, zoneID); {
		case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
			s.warn(zoneID, now)
			return verdict{outcome: outZoneUnknown}
		case err != nil:
			at.Settings = zone.Defaults(zoneID) // the store is away, and this server has not seen the zone
		}
	}
	if at.zone != nil {
		at.Settings = at.zone.Settings().InForce()
	}
	v := s.judge(ctx, at, q, shown, h, now)
	if at.SiteGate == zone.GateObserve && v.held() {
		return verdict{outcome: outObserved}
	}
	v.origin = named(at.Settings, q)
	if q.ingress && (v.outcome == outExchanged || v.outcome == outSession) {
		v.location = "" // it would lead to the waiting page. The site sees the pass, which is of no use any more.
	}
	return v
}

// named returns the origin whose page sent the request, if the zone's settings name it; "" otherwise.
func named(settings zone.Settings, q *request) string {
	if origin := field(q.header, "Origin"); slices.Contains(settings.CORSOrigins, origin) {
		return origin
	}
	return ""
}

// judge decides by the settings in force.
func (s *Service) judge(ctx context.Context, at place, q *request, shown string, h held, now time.Time) verdict {
	switch {
	case shown != "":
		return s.exchange(ctx, at, q, shown, h, now)
	case bypasses(&at.Settings, q), q.preflight(), fromNetwork(&at.Settings, q):
		return verdict{outcome: outBypassed}
	}
	if v, ok := s.app(ctx, at, q, now); ok {
		return v
	}
	if at.SiteGate == zone.GateObserve {
		s.observe(at.ZoneID, q, now)
	}
	switch {
	case page.InAdvance(q.header): // the visitor has not opened the page yet, and must not take a place
	case q.navigates() && !q.crawls():
		return s.admit(ctx, at, q, q.visitor.RealIP(), h, now)
	case at.OpenAt(now):
		return verdict{outcome: outOpen}
	default:
		if v, ok := s.admitNow(ctx, at, q, now); ok {
			return v
		}
	}
	return refuse(q)
}

// held reports whether the request does not reach the site.
func (v *verdict) held() bool {
	return v.err != nil || v.refused != 0 || slices.Contains([]string{outWait, outPassRefused, outCookieless}, v.outcome)
}

// observe keeps a request for which the gate would have had no answer but to wait or to refuse it, had there been a line.
func (s *Service) observe(zoneID string, q *request, now time.Time) {
	r := observed.Request{Method: q.method, Path: q.uri, UserAgent: field(q.header, "User-Agent"), Would: observed.Refuse}
	mode := q.header.Get("Sec-Fetch-Mode")
	switch {
	case page.InAdvance(q.header): // nobody misses it
		return
	case q.crawls():
		r.Agent = observed.Crawler
	case q.navigates():
		if r.Agent, r.Would = observed.Browser, observed.Wait; q.method == http.MethodPost && !q.own() {
			r.Would = observed.Lose
		}
	case q.keeps(nil) && mode != "":
		r.Agent = observed.Page
	case q.method == http.MethodPost && q.wantsHTML(), mode == "navigate":
		r.Agent = observed.Browser
		if q.method == http.MethodPost {
			r.Would = observed.Lose
		}
	}
	s.Observed.Add(zoneID, &r, now)
}

// refuse tells whoever asks to join. Crawlers cannot, and come again after a 503, which takes no page out of an index.
func refuse(q *request) verdict {
	if q.crawls() {
		return verdict{outcome: outRefused, refused: http.StatusServiceUnavailable}
	}
	return verdict{outcome: outRefused, refused: http.StatusTooManyRequests}
}

// session returns what a visitor keeps as a session: a cookie, or a header of an app.
func (s *Service) session(settings zone.Settings, is token.Session, app bool) keep {
	k := keep{names: &sessionNames, text: s.Keys.SignSession(settings.ZoneID, is), length: is.Length, domain: settings.CookieDomain}
	if app {
		k.names = nil
	}
	return k
}

// begin lets a visitor in with a new session for an admission. ok is false if the admission is over, and with an error if the store
// could not be told: then the visitor comes again.
func (s *Service) begin(ctx context.Context, outcome string, at place, g pass.Grant, app bool, now time.Time) (v verdict, ok bool) {
	begun, over, err := s.beginAt(ctx, at, g, now)
	if err != nil {
		return verdict{outcome: outUnknown, err: err}, false
	}
	s.Room.Used(at.ZoneID, g.Admission)
	return verdict{outcome: outcome, keep: s.session(at.Settings, begun, app), admission: begun.Admission}, !over
}

// grant returns what a pass grants, and whether it is a good pass of the zone that may begin a session.
func (s *Service) grant(at place, shown string, now time.Time) (pass.Grant, bool) {
	g, err := s.Passes.Verify(shown, now)
	return g, err == nil && g.ZoneID == at.ZoneID && at.fresh(g, now)
}

// clocksApart is how much longer a pass is remembered than it is good: our clock may be behind the store's.
const clocksApart = time.Minute

// What is spent of a pass: the pass itself, and that it is good in a header.
const (
	spentPass   = "pass:"
	spentHeader = "header:"
)

// spend reports whether something of a pass is spent for the first time, or again by the same one, whom nobody else can pretend to
// be. With "" for by it says whether it could be spent. Of passes by which servers let one visitor in while the store was away, one
// can be spent.
func (s *Service) spend(ctx context.Context, what string, g pass.Grant, by string, now time.Time) (bool, error) {
	left := time.UnixMilli(g.ExpiresAtMillis).Sub(now) + clocksApart
	if g.Local { // another server may have let the visitor in, too, until this pass expires
		left += time.Duration(g.ExpiresAtMillis-g.AdmittedAtMillis) * time.Millisecond
	}
	if by == "" {
		left = 0
	}
	first, err := s.Zones.Spend(ctx, what+g.Admission.String(), by, left)
	if g.Local && first && err == nil {
		first, err = s.Zones.Spend(ctx, what+g.ZoneID+"/"+string(g.ID[:]), by, left)
	}
	if err != nil {
		return false, fmt.Errorf("site: exchange: %w: %w", line.ErrStoreUnavailable, err)
	}
	return first, nil
}

// spendShown is spend for an app that shows the pass in a header. With the token of the place it may be repeated.
func (s *Service) spendShown(ctx context.Context, g pass.Grant, tok string, now time.Time) (bool, error) {
	by := newKey()
	if place, err := s.Keys.Verify(g.ZoneID, tok); err == nil && place.ID == g.ID {
		by = "token:" + string(place.ID[:])
	}
	first, err := s.spend(ctx, spentHeader, g, by, now)
	if first && err == nil {
		first, err = s.spend(ctx, spentPass, g, by, now)
	}
	return first, err
}

// asked stands before the pass in an address to which the gate led a browser with a new key.
const asked = "."

// exchange gives a session for a pass, and leads to the same address without it. The pass is good for one browser, which
// shows the key that it got when it was sent to wait. One that has none, as it came to the waiting page by another way, gets one
// now: it comes back with it at once, or keeps no cookies, and would only go through the line again and again. If the store does
// not say whether the pass was used before, the browser is told to come again: the pass is not good twice, and not lost either.
func (s *Service) exchange(ctx context.Context, at place, q *request, shown string, h held, now time.Time) verdict {
	shown, again := strings.CutPrefix(shown, asked)
	by := h.key
	if by == "" && h.inside {
		by = string(h.session.Admission[:])
	}
	if by == "" && q.ingress { // it leads nobody back with a key
		by = newKey()
	}
	g, good := s.grant(at, shown, now)
	switch {
	case good && by == "" && again:
		q.uri = page.WithPass(q.uri, shown)
		return verdict{outcome: outCookieless, location: s.page(at.Settings, q) + "&" + page.CookielessParameter + "=1"}
	case good:
		first, err := s.spend(ctx, spentPass, g, by, now)
		if first && by == "" {
			// From now on the pass is good in links alone: more people read addresses than headers.
			_, err = s.spend(ctx, spentHeader, g, "link", now)
		}
		switch {
		case err != nil && !h.inside:
			return verdict{outcome: outUnknown, err: err}
		case err == nil && first && by == "":
			return verdict{outcome: outAsked, location: page.WithPass(q.here(), asked+shown), keep: key(at.Settings)}
		case err == nil && first:
			v, ok := s.begin(ctx, outExchanged, at, g, false, now)
			if v.location = q.here(); ok || v.err != nil && !h.inside {
				return v
			}
		}
	}
	if h.inside { // a visitor with a session came back to the address with the pass
		return verdict{outcome: outSession, location: q.here()}
	}
	// Without a new place, the page would lead here with the same pass again.
	v := s.toPage(outPassRefused, at.Settings, q, h)
	v.location += "&" + page.RefusedParameter + "=" + page.Refused(shown) + "&" + page.AgainParameter + "=1"
	return v
}

// app lets an app in that shows a good pass in a header for the first time. With the token of its place, which nobody else has,
// it may repeat that. ok is false for any other request.
func (s *Service) app(ctx context.Context, at place, q *request, now time.Time) (v verdict, ok bool) {
	shown := q.header.Get(AppHeader)
	if scheme, bearer, _ := strings.Cut(q.header.Get("Authorization"), " "); shown == "" && strings.EqualFold(scheme, "Bearer") {
		shown = bearer
	}
	if shown == "" {
		return verdict{}, false
	}
	g, ok := s.grant(at, shown, now)
	if !ok {
		return verdict{}, false
	}
	first, err := s.spendShown(ctx, g, q.header.Get(PlaceHeader), now)
	if err != nil {
		return verdict{outcome: outUnknown, err: err}, true
	}
	if !first {
		return verdict{}, false
	}
	// The page of a browser that sends cookies by itself keeps the session in one: see site.js of package page.
	v, ok = s.begin(ctx, outPass, at, g, q.header.Get("Sec-Fetch-Site") != "same-origin", now)
	return v, ok || v.err != nil
}

// key returns a new key for a browser.
func key(settings zone.Settings) keep {
	return keep{names: &keyNames, text: newKey(), length: keyLife, domain: settings.CookieDomain}
}

// toPage sends a browser to the waiting page, with a key, unless it has one: it shows that with the pass, so that nobody else can.
func (s *Service) toPage(outcome string, settings zone.Settings, q *request, h held) verdict {
	v := verdict{outcome: outcome, location: s.page(settings, q)}
	if h.key == "" {
		v.keep = key(settings)
	}
	return v
}

// page returns the address of the waiting page. A ticket in the visitor's query goes along.
func (s *Service) page(settings zone.Settings, q *request) string {
	const most = 2_048 // bytes of a ticket; see maxTarget
	ticket := q.takeOut(TicketParameter)
	address := s.RoomURL + "/wait/" + settings.ZoneID + "?to=" + url.QueryEscape(q.target(s.RoomURL != "", settings.Sites))
	if ticket != "" && len(ticket) <= most {
		address += "&" + page.TicketParameter + "=" + ticket // as it was written
	}
	return address
}

// warn logs that the gateway asks about a zone that does not exist, once in warnEvery.
func (s *Service) warn(zoneID string, now time.Time) {
	last := s.warned.Load()
	if now.Unix()-last >= int64(warnEvery/time.Second) && s.warned.CompareAndSwap(last, now.Unix()) {
		s.Logger.Warn("a gateway asks about a zone that does not exist, and lets everybody through: create the zone, or correct its name in the gateway",
			"zone", zoneID)
	}
}
