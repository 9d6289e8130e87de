package site

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TicketParameter has a ticket, in links to the site: see package ticket.
const TicketParameter = "waiting_room_ticket"

// AppHeader has a pass, for apps whose Authorization is another service's.
const AppHeader = "X-Waiting-Room-Pass"

// warnEvery is how often the log may say that a zone is not there.
const warnEvery = 10 * time.Minute

// Zones knows how a zone is set.
type Zones interface {
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
}

// Limits count how often a pass was exchanged. *limiter.Limiter does.
type Limits interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
}

// Meter counts what becomes of requests. A zoneID may be invented.
type Meter interface {
	// Site counts one request by its outcome, one of Outcomes.
	Site(zoneID, outcome string)
	// SessionBegun counts a visitor who was let in by a browser.
	SessionBegun(zoneID string)
}

// Outcomes of a request.
const (
	outSession     = "session"      // has a session
	outRenewed     = "renewed"      // has one, and got a new one
	outExchanged   = "exchanged"    // got one for a pass
	outPass        = "pass"         // an app showed a pass
	outAdmitted    = "admitted"     // joined and was let in within the answer
	outOpen        = "open"         // the zone lets everybody through
	outBypassed    = "bypassed"     // is never queued
	outZoneUnknown = "zone_unknown" // let through
	outWait        = "sent_to_wait" // a browser was sent to the waiting page
	outPassRefused = "pass_refused" // so, too, and its pass was no good
	outRefused     = "refused"      // anything else was told to join
	outUnreadable  = "unreadable"   // the gateway does not say what is asked for
)

// Outcomes are all of them.
var Outcomes = []string{
	outSession, outRenewed, outExchanged, outPass, outAdmitted, outOpen, outBypassed, outZoneUnknown, outWait, outPassRefused, outRefused,
	outUnreadable,
}

// Dependencies are what a Service is made of. All but Now and Logger are required.
type Dependencies struct {
	Room   *wait.Service
	Zones  Zones
	Keys   *token.Keys
	Passes *pass.Signer
	Limits Limits
	Meter  Meter
	// RoomURL is where visitors reach the public listener: https://queue.shop.example. Empty
	// where the gateway leads /wait/ and /traffic/ of the site itself there.
	RoomURL string
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Service decides whether a request goes on. It is safe for concurrent use.
type Service struct {
	room    *wait.Service
	zones   Zones
	keys    *token.Keys
	passes  *pass.Signer
	limits  Limits
	meter   Meter
	roomURL string
	now     func() time.Time
	log     *slog.Logger
	recent  recent
	warned  atomic.Int64 // Unix seconds
}

// New returns the gate.
func New(d Dependencies) *Service {
	s := &Service{
		room: d.Room, zones: d.Zones, keys: d.Keys, passes: d.Passes, limits: d.Limits, meter: d.Meter,
		roomURL: strings.TrimSuffix(d.RoomURL, "/"), now: d.Now, log: d.Logger,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// verdict is what becomes of a request.
type verdict struct {
	outcome string
	// location is where the browser is led; "" where the request goes on or is refused.
	location string
	refused  bool
	// session is one to hand out, "" for none, and length how long it is good. An app gets it
	// in a header.
	session string
	length  time.Duration
	app     bool
}

// origin finds the address that a visitor comes from. Who is inside is not asked for it.
type origin interface{ RealIP() string }

// within bounds what an answer waits for the store, in all: far below what the gateways of
// deploy/site wait, one of which lets nobody go on then, not even those inside.
const within = 400 * time.Millisecond

// ask decides. The zone's name is well-formed.
func (s *Service) ask(ctx context.Context, zoneID string, q *request, from origin) verdict {
	now := s.now()
	held, inside := s.find(zoneID, q, now)
	shown := ""
	if q.reads() && strings.Contains(q.uri, page.PassParameter) && q.navigates() {
		shown = q.takeOut(page.PassParameter)
	}
	v := verdict{outcome: outSession}
	if shown != "" || !inside || held.HalfOver(now) {
		// Most requests end above, and are spared the timer.
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if inside && shown == "" {
			v = s.renew(ctx, zoneID, q, held, now)
		} else {
			v = s.decide(ctx, zoneID, q, from, shown, inside, now)
		}
	}
	s.meter.Site(zoneID, v.outcome)
	if v.outcome == outExchanged || v.outcome == outAdmitted {
		s.meter.SessionBegun(zoneID)
	}
	return v
}

// decide decides about one who shows a pass or has no session.
func (s *Service) decide(ctx context.Context, zoneID string, q *request, from origin, shown string, inside bool, now time.Time) verdict {
	settings, err := s.zones.Zone(ctx, zoneID)
	switch {
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		s.warn(zoneID, now)
		return verdict{outcome: outZoneUnknown}
	case err != nil:
		settings = zone.Defaults(zoneID) // the store is away, and this server has not seen the zone
	}
	settings = settings.InForce()
	switch {
	case shown != "":
		return s.exchange(ctx, settings, q, shown, from.RealIP(), inside, now)
	case bypasses(settings, q), q.preflight():
		return verdict{outcome: outBypassed}
	}
	if v, ok := s.app(settings, q, now); ok {
		return v
	}
	switch {
	case q.prefetches(): // nobody is there yet who could take a place
		return verdict{outcome: outRefused, refused: true}
	case q.navigates():
		return s.admit(ctx, settings, q, from.RealIP(), now)
	case openTo(settings, now):
		return verdict{outcome: outOpen}
	}
	return verdict{outcome: outRefused, refused: true}
}

// openTo reports whether the zone lets everybody through. While people gather for an event it lets nobody through, and
// by invitation those alone who show a ticket.
func openTo(settings zone.Settings, now time.Time) bool {
	return settings.Mode == zone.ModeOpen && settings.InvitationAt(now) == "" && !settings.Gate().Holds(now.UnixMilli())
}

// maxSession is the longest that renewals make of a session, from its beginning: one that was begun on
// a quiet day is no ticket for next week's sale.
const maxSession = 12 * time.Hour

// renew lets one in whose session is half over, and renews it where the zone has it so.
func (s *Service) renew(ctx context.Context, zoneID string, q *request, held token.Session, now time.Time) verdict {
	settings, err := s.zones.Zone(ctx, zoneID)
	left := held.Begun.Add(maxSession).Sub(now)
	// What is never queued may lie in caches, which must not keep a session.
	if err != nil || settings.SessionRenewal != zone.RenewalUse || left < time.Second || bypasses(settings, q) {
		return verdict{outcome: outSession}
	}
	held.Issued, held.Length = now, min(settings.Session(), left.Truncate(time.Second))
	return verdict{
		outcome: outRenewed, session: s.keys.SignSession(zoneID, held), length: held.Length, app: q.header.Get(SessionHeader) != "",
	}
}

// begin makes the session of an admission.
func (s *Service) begin(settings zone.Settings, g pass.Grant, now time.Time) (text string, length time.Duration) {
	length = settings.Session()
	return s.keys.SignSession(settings.ZoneID, token.Session{Admission: g.Admission, Begun: now, Issued: now, Length: length}), length
}

// grant returns what a pass of the zone grants.
func (s *Service) grant(zoneID, shown string, now time.Time) (pass.Grant, bool) {
	g, err := s.passes.Verify(shown, now)
	return g, err == nil && g.ZoneID == zoneID
}

// exchange gives a session for a pass, and leads to the same address without it.
func (s *Service) exchange(ctx context.Context, settings zone.Settings, q *request, shown, address string, inside bool, now time.Time) verdict {
	browser := sha256.Sum256([]byte(address + "\n" + q.header.Get("User-Agent")))
	if g, ok := s.grant(settings.ZoneID, shown, now); ok {
		first, err := s.first(ctx, g, browser, now)
		if err != nil {
			s.log.ErrorContext(ctx, "site: an exchange could not be counted", "error", err)
		}
		if first {
			text, length := s.begin(settings, g, now)
			return verdict{outcome: outExchanged, location: q.here(), session: text, length: length}
		}
	}
	if inside { // somebody came back to the address with the pass
		return verdict{outcome: outSession, location: q.here()}
	}
	// The page must not lead here with the same pass again.
	return verdict{outcome: outPassRefused, location: s.page(settings.ZoneID, q) + "&" + page.AgainParameter + "=1"}
}

// app lets an app in that shows a pass in a header.
func (s *Service) app(settings zone.Settings, q *request, now time.Time) (verdict, bool) {
	shown := q.header.Get(AppHeader)
	if scheme, bearer, _ := strings.Cut(q.header.Get("Authorization"), " "); shown == "" && strings.EqualFold(scheme, "Bearer") {
		shown = bearer
	}
	if shown == "" {
		return verdict{}, false
	}
	g, ok := s.grant(settings.ZoneID, shown, now)
	if !ok {
		return verdict{}, false
	}
	text, length := s.begin(settings, g, now)
	return verdict{outcome: outPass, session: text, length: length, app: true}, true
}

// admit lets a browser in where there is room, and sends it to the waiting page where not.
func (s *Service) admit(ctx context.Context, settings zone.Settings, q *request, address string, now time.Time) verdict {
	toPage := func() verdict { return verdict{outcome: outWait, location: s.page(settings.ZoneID, q)} }
	open := openTo(settings, now)
	if settings.Mode == zone.ModeClosed || settings.InvitationAt(now) != "" {
		return toPage()
	}
	// At most a second old, which spares the store the joins of a crowd. Some may have left the line without a word: where
	// one who comes now need not wait, they are in nobody's way.
	if state, err := s.room.State(ctx, settings.ZoneID); err == nil && state.Waiting > 0 && state.EstimatedWait > 0 && !open {
		return toPage()
	}
	a, err := s.room.Join(ctx, wait.Newcomer{ZoneID: settings.ZoneID, ClientAgent: "SITE"}.From(address, q.header))
	if err == nil && a.CanEnter() {
		if g, ok := s.grant(settings.ZoneID, a.Pass, now); ok {
			text, length := s.begin(settings, g, now)
			return verdict{outcome: outAdmitted, session: text, length: length}
		}
	}
	switch {
	case open:
		return verdict{outcome: outOpen}
	case err == nil && !a.CanEnter():
		v := toPage()
		v.location += "&" + page.TokenParameter + "=" + a.Token // needs no escaping
		return v
	}
	return toPage() // it says why: the line is full, the store is away, too many come from there
}

// page is the address of the waiting page, with the ticket of one who came with it.
func (s *Service) page(zoneID string, q *request) string {
	const most = 2_048 // gateways take answers whose header has a few kilobytes
	ticket := q.takeOut(TicketParameter)
	address := s.roomURL + "/wait/" + zoneID + "?to=" + url.QueryEscape(q.target(s.roomURL != ""))
	if ticket != "" && len(ticket) <= most {
		address += "&" + page.TicketParameter + "=" + ticket // as it was written
	}
	return address
}

// warn says that the gateway asks for a zone that there is not.
func (s *Service) warn(zoneID string, now time.Time) {
	last := s.warned.Load()
	if now.Unix()-last >= int64(warnEvery/time.Second) && s.warned.CompareAndSwap(last, now.Unix()) {
		s.log.Warn("a gateway asks about a zone that there is not, and everybody is let through: make the zone, or mend its name in the gateway",
			"zone", zoneID)
	}
}
