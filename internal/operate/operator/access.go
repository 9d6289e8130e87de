package operator

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/operate/login"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/cors"
)

// Refusals. Compare with errors.Is.
var (
	// ErrUnauthorized: the operators' token is missing or wrong.
	ErrUnauthorized = refusal.New("operator: unauthorized", refusal.Refusal{
		Status: http.StatusUnauthorized, Code: "unauthorized",
		Title:        "The operators' token is missing or wrong",
		Detail:       "Send it as Authorization: Bearer <token>.",
		Authenticate: `Bearer realm="operators"`,
		Readers:      refusal.Operators,
		Doc:          "`Authorization: Bearer` with the operators' token is missing or wrong.",
	})
	// ErrGuessing: it is wrong, and so were many before it.
	ErrGuessing = refusal.New("operator: too many wrong tokens", refusal.Refusal{
		Status: http.StatusTooManyRequests, Code: "too_many_wrong_tokens",
		Title:    "Too many wrong operators' tokens",
		Detail:   "The token is wrong, as were several just before. The server takes the right one at any time.",
		RetryMin: 2, RetryMax: 4,
		Readers: refusal.Operators,
		Doc: "The token is wrong, as were five just before from the same address. The server takes the right one at any time: nobody is " +
			"locked out by what others try.",
	})
	// ErrCrossOrigin: a browser sent the request on behalf of another site.
	ErrCrossOrigin = refusal.Like("operator: cross-origin request", cors.ErrCrossOrigin)
	// ErrHost: the request is for another host.
	ErrHost = refusal.New("operator: request for another host", refusal.Refusal{
		Status: http.StatusMisdirectedRequest, Code: "host_unknown",
		Title:   "The request is for another host",
		Detail:  "The operators' listener answers as localhost and 127.0.0.1, and as what QUEUE_ADMIN_HOSTS names.",
		Readers: refusal.Operators,
		Doc: "The `Host` of the request is none of the operators' listener's own: a page of the internet may have had its name " +
			"lead to this machine. `QUEUE_ADMIN_HOSTS` names those of proxies in front.",
	})
)

// AccessOptions of an Access. People and Logger are required.
type AccessOptions struct {
	// People know whose token it is.
	People *people.Registry
	// Besides are tokens that open, too, and say nothing of who shows them.
	Besides []string
	// Proxy knows whom a proxy in front names; nil without one.
	Proxy *login.Proxy
	// From finds the address that a request came from. That of the connection
	// when absent.
	From   func(*http.Request) string
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Access checks the operators' tokens. It accepts a right token at any time and from any address, so wrong tokens lock
// nobody out. A token holds at least 128 random bits (secret.CheckToken), so nobody can guess it. Wrong tokens are logged, and
// clients that send many are told to wait. It is safe for concurrent use.
type Access struct {
	people *people.Registry
	proxy  *login.Proxy
	// besides are hashes, so that all comparisons take the same time, whatever
	// the length of what was sent.
	besides [][sha256.Size]byte
	// wrong bounds how many wrong tokens of an address are logged, by address.Key: the right one opens at any time. mu guards it.
	mu      sync.Mutex
	wrong   map[string]*rate.Limiter
	now     func() time.Time
	origins *http.CrossOriginProtection
	log     *slog.Logger
	// From is the address that a request came from.
	From func(*http.Request) string
}

// NewAccess returns the access.
func NewAccess(o AccessOptions) *Access {
	if o.From == nil {
		o.From = address.Finder(nil)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Access{
		people: o.People, proxy: o.Proxy, wrong: make(map[string]*rate.Limiter), now: o.Now, origins: http.NewCrossOriginProtection(), log: o.Logger, From: o.From,
	}
	for _, token := range o.Besides {
		a.besides = append(a.besides, sha256.Sum256([]byte(token)))
	}
	return a
}

// Check returns who shows the token with the request. If the token is not good, it
// returns ErrUnauthorized and logs it with the route and more; or, once many were wrong, ErrGuessing, and logs nothing.
func (a *Access) Check(r *http.Request, shown, route string, more ...any) (people.Identity, error) {
	from := a.From(r)
	if who, ok := a.people.Identify(shown); ok {
		who.Address = from
		return who, nil
	}
	sum, right := sha256.Sum256([]byte(shown)), 0
	for _, token := range a.besides {
		right |= subtle.ConstantTimeCompare(sum[:], token[:])
	}
	if right == 1 {
		return people.Identity{}, nil
	}
	if !a.mayGuess(address.Key(from)) {
		return people.Identity{}, ErrGuessing
	}
	a.log.With("method", r.Method, "route", route, "from", from).WarnContext(r.Context(), "operators' token refused", more...)
	return people.Identity{}, ErrUnauthorized
}

// ByProxy returns whom a proxy in front names as who asks, and whether it names somebody. The error is login.ErrNoGroup.
func (a *Access) ByProxy(r *http.Request) (who people.Identity, named bool, err error) {
	who, named, err = a.proxy.Identify(r)
	who.Address = a.From(r)
	if err != nil {
		a.Failed(r, "proxy", err)
	}
	return who, named, err
}

// Failed logs why a log in failed, unless many of that address did just before.
func (a *Access) Failed(r *http.Request, route string, why error) {
	if from := a.From(r); a.mayGuess(address.Key(from)) {
		a.log.WarnContext(r.Context(), "operator's log in failed", "route", route, "from", from, "error", why)
	}
}

// mayGuess reports whether a wrong token of an address is answered as one more, and not as one too many.
func (a *Access) mayGuess(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, limit := a.now(), a.wrong[key]
	if limit == nil {
		if len(a.wrong) >= maxGuessers {
			maps.DeleteFunc(a.wrong, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= guesses })
		}
		if len(a.wrong) >= maxGuessers {
			clear(a.wrong)
		}
		limit = rate.NewLimiter(rate.Every(guessEvery), guesses)
		a.wrong[key] = limit
	}
	return limit.AllowN(now, 1)
}

const (
	// maxGuessers bounds the addresses that are remembered: a megabyte.
	maxGuessers = 10_000
	// guesses is how many wrong tokens of an address in a row are answered with 401 and logged, and guessEvery how long it then takes until one
	// more is: an operator who pastes the wrong thing notices nothing, and the log of a program that tries tokens stays short.
	guesses    = 5
	guessEvery = 2 * time.Second
)

// Hosts are the names under which the operators' listener answers. They prevent DNS rebinding: a site on the internet can
// resolve its own name to 127.0.0.1, but the browser then sends that name as the Host.
//
// The port is not compared: the other end of a tunnel (ssh -L, kubectl port-forward) may have another port.
type Hosts struct {
	// Loopback tells that only this machine reaches the listener. It answers
	// then as localhost, 127.0.0.1 and [::1]. Elsewhere it answers to any name if
	// Names is empty, else to addresses and these.
	Loopback bool
	// Names are those of proxies in front, without a port. A browser reaches them over TLS, but those that begin with
	// PlainPrefix.
	Names []string
	// Console is the host under which browsers reach the console over TLS; "" where nobody said.
	Console string
}

// PlainPrefix stands before the name of a host that browsers reach without TLS.
const PlainPrefix = "http://"

// Secure reports whether a browser that sends the request came over TLS: to this listener, or to a proxy in front whose
// name the request has. No header says so, since anybody can write one.
func (h Hosts) Secure(r *http.Request) bool {
	host := bare(r.Host)
	return r.TLS != nil || h.Console != "" && h.Console == host || slices.ContainsFunc(h.Names, func(name string) bool { return strings.EqualFold(name, host) })
}

// bare is a host without its port, and without the brackets of an address.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// own reports whether the Host of a request is one of these.
func (h Hosts) own(host string) bool {
	if !h.Loopback && len(h.Names) == 0 {
		return true
	}
	host = bare(host)
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || !h.Loopback) {
		return true
	}
	return host == "localhost" || h.Console != "" && host == h.Console || slices.ContainsFunc(h.Names, func(name string) bool {
		return strings.EqualFold(strings.TrimPrefix(name, PlainPrefix), host)
	})
}
