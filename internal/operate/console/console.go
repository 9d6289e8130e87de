package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// root is where the console begins; no page of it is outside.
const root = "/console/"

const (
	// maxForm bounds the body of a form: twice a zone's settings, of which logo, slots and style have up
	// to 80 KB, more where they are written with %.
	maxForm = 512 << 10
	// maxStreams bounds the consoles that are open at a time: each costs a
	// connection and a kilobyte a second.
	maxStreams = 512
)

// Watch is where the figures come from: one sample a second of each zone. Once
// it is stopped, Wait returns an error, and the streams end.
type Watch interface {
	// Latest is the newest sample of a zone, if there is one. History is its last hour, oldest first.
	Latest(zoneID string) (watch.Sample, bool)
	History(zoneID string) []watch.Sample
	Wait(ctx context.Context, after int64) (tick int64, err error)
	// Clock is the time on the clock of the zone's store, once it is known.
	Clock(zoneID string) (now time.Time, ok bool)
}

// Parts are what a Console is made of. All but Provider, LoginAge and Now are required.
type Parts struct {
	Zones *operator.Service
	Watch Watch
	// Policies are those of limits, Decisions what became of who asked.
	Policies  *policyset.Set
	Decisions policyset.Seen
	// Preview shows the waiting page as it would be with these settings.
	Preview func(w http.ResponseWriter, r *http.Request, s zone.Settings) error
	// ProviderKeys: this server has the keys of a challenge's provider.
	ProviderKeys bool
	// NotKept says why what is in force is lost with this server; nil if it is not.
	NotKept func() error
	// Access opens the log in, People know the sessions.
	Access *operator.Access
	People *people.Registry
	// Provider logs people in by OpenID Connect, for sessions of LoginAge; nil without one.
	Provider *login.Provider
	LoginAge time.Duration
	// Secure reports whether the browser that sends a request came over TLS.
	Secure func(*http.Request) bool
	Meter  Meter
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Console is the operators' console. It is safe for concurrent use.
type Console struct {
	Parts
	pages map[string]*template.Template

	streams chan struct{} // holds one for each open stream
}

// New returns the console.
func New(p Parts) *Console {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &Console{Parts: p, pages: loadPages(), streams: make(chan struct{}, maxStreams)}
}

// Handler serves the console: all below /console/, and / that leads there.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, root, http.StatusSeeOther)
	})
	mux.Handle("GET /console", http.RedirectHandler(root, http.StatusSeeOther))
	// What browsers ask for by themselves where a page names no icon.
	mux.Handle("GET /favicon.ico", http.RedirectHandler(root+"assets/icon.svg", http.StatusFound))
	mux.HandleFunc("GET /console/assets/{name...}", asset)
	mux.HandleFunc("GET /console/login", c.open(c.loginPage))
	mux.HandleFunc("POST /console/login", c.open(c.login))
	mux.HandleFunc("GET /console/login/provider", c.open(c.toProvider))
	mux.HandleFunc("GET "+login.CallbackPath, c.open(c.fromProvider))
	for pattern, h := range map[string]handler{
		"POST /console/logout":                                c.logout,
		"GET /console/{$}":                                    c.zonesPage,
		"GET /console/events":                                 c.zonesEvents,
		"GET /console/changes":                                c.changesPage,
		"GET /console/new":                                    c.newPage,
		"POST /console/new":                                   c.create,
		"GET /console/zones/{zoneId}":                         c.ofZone(c.zonePage),
		"GET /console/zones/{zoneId}/events":                  c.ofZone(c.zoneEvents),
		"GET /console/zones/{zoneId}/history":                 c.ofZone(c.history),
		"GET /console/zones/{zoneId}/report":                  c.ofZone(c.report),
		"GET /console/zones/{zoneId}/change":                  c.ofZone(c.changePage),
		"POST /console/zones/{zoneId}/change":                 c.ofZone(c.change),
		"POST /console/zones/{zoneId}/ask":                    c.ofZone(c.changePage),
		"POST /console/zones/{zoneId}/preview":                c.ofZone(c.preview),
		"POST /console/zones/{zoneId}/undo":                   c.ofZone(c.undo),
		"GET /console/zones/{zoneId}/inside":                  c.ofZone(c.insideAsk),
		"POST /console/zones/{zoneId}/inside":                 c.insideDo,
		"GET /console/zones/{zoneId}/give-up":                 c.ofZone(c.giveUpAsk),
		"POST /console/zones/{zoneId}/give-up":                c.giveUpDo,
		"GET /console/zones/{zoneId}/delete":                  c.ofZone(c.deletePage),
		"POST /console/zones/{zoneId}/delete":                 c.ofZone(c.deleteIt),
		"GET /console/zones/{zoneId}/new-event":               c.ofEvent(c.eventForm),
		"POST /console/zones/{zoneId}/new-event":              c.ofEvent(c.eventAsk),
		"GET /console/zones/{zoneId}/schedule/{event}":        c.ofEvent(c.eventPage),
		"GET /console/zones/{zoneId}/schedule/{event}/events": c.ofEvent(c.eventEvents),
		"GET /console/zones/{zoneId}/schedule/{event}/edit":   c.ofEvent(c.eventForm),
		"POST /console/zones/{zoneId}/schedule/{event}/edit":  c.ofEvent(c.eventAsk),
		"GET /console/zones/{zoneId}/schedule/{event}/remove": c.ofEvent(c.eventRemove),
		"GET /console/zones/{zoneId}/schedule/{event}/act":    c.ofEvent(c.actAsk),
		"POST /console/zones/{zoneId}/schedule/{event}/act":   c.ofEvent(c.actDo),
		"GET /console/limits":                                 c.limitsPage,
		"GET /console/limits/events":                          c.limitsEvents,
		"GET /console/tokens":                                 c.tokensPage,
		"POST /console/tokens":                                c.makeToken,
		"POST /console/tokens/revoke":                         c.revokeToken,
		// Every other path.
		"/console/": func(http.ResponseWriter, *http.Request, session) error { return errNothing },
	} {
		mux.HandleFunc(pattern, c.guarded(c.permitted(pattern, h)))
	}
	return c.protect(mux)
}
