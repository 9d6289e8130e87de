package room

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Backend is the address of a backend of the shop, whose joins are for the visitors that it names.
const Backend = "198.51.100.200"

// Server is a server with one zone. Its parts may be replaced before Serve.
type Server struct {
	*parts.Clock
	ZoneID  string
	Store   *parts.Store
	Limiter *parts.Limiter
	Meter   *parts.Meter
	// Logs are what Log writes, as text.
	Logs *bytes.Buffer
	Log  *slog.Logger

	Tokens     *token.Keys
	Passes     *pass.Signer
	Issuer     answer.Issuer
	Zones      *zones.Zones
	Guard      *guard.Guard
	Tickets    *ticket.Verifier
	Challenges *challenge.Checker
	Shares     *network.Shares
	// Admissions is the log of admissions; nil for none.
	Admissions *writer.Log

	// From is the address that all requests come from, or "".
	From string

	// Wait, Entry and Echo are made by Serve. HTTP is Echo, with each answer checked against the description of the public listener.
	Wait  *wait.Service
	Entry *entry.Service
	Echo  *echo.Echo
	HTTP  http.Handler
}

// New returns a server of a zone with this limit. It ends with the test.
func New(tb testing.TB, zoneID string, perMinute int64) *Server {
	tb.Helper()
	s := &Server{Clock: parts.NewClock(), ZoneID: zoneID, Limiter: &parts.Limiter{}, Meter: &parts.Meter{}, Logs: &bytes.Buffer{}}
	s.Log = slog.New(slog.NewTextHandler(s.Logs, nil))
	s.Store = parts.OpenStore(tb, s.Now, s.Log)
	s.Set(tb, func(z *zone.Settings) { z.PerMinute = perMinute })
	var err error
	s.Tokens, err = token.NewKeys(parts.Secrets()...)
	Must(tb, err)
	s.Passes, err = pass.NewSigner(pass.DefaultIssuer, parts.Secrets()[0])
	Must(tb, err)
	s.Issuer = answer.NewIssuer(s.Tokens, s.Passes)
	s.Guard = guard.New(guard.Options{Limiter: s.Limiter, Backends: []netip.Prefix{netip.MustParsePrefix(Backend + "/32")}})
	s.Tickets = ticket.New(nil, s.Store, s.Log)
	s.Shares = network.New(nil, s.Log, s.Now)
	s.Challenge(&challenge.Provider{})
	s.Open(tb, zones.Options{})
	s.Serve(tb)
	s.Store.Asked()
	return s
}

// Challenge has joins checked by this provider.
func (s *Server) Challenge(p *challenge.Provider) {
	s.Challenges = challenge.New(challenge.Options{Keys: s.Tokens, Spends: s.Store, Provider: p, Meter: s.Meter, Now: s.Now})
}

// Open has the server remember its zones with these options, beside its store, guard and clock.
func (s *Server) Open(tb testing.TB, o zones.Options) {
	tb.Helper()
	o.Store, o.Guard, o.Now = s.Store, s.Guard, s.Now
	s.Zones = zones.New(o)
	tb.Cleanup(s.Zones.Stop)
	s.Zones.RunOnce(tb.Context())
}

// Serve makes the rooms of the parts.
func (s *Server) Serve(tb testing.TB) {
	tb.Helper()
	s.Wait = wait.New(wait.Dependencies{
		Guard: s.Guard, Tokens: s.Tokens, Issuer: s.Issuer, Tickets: s.Tickets, Challenges: s.Challenges, Shares: s.Shares,
		Log: s.Admissions, Meter: s.Meter, Now: s.Now,
	})
	s.Entry = entry.New(entry.Dependencies{
		Issuer: s.Issuer, Tickets: s.Tickets, Shares: s.Shares, Guard: s.Guard, Log: s.Admissions, Meter: s.Meter,
	})
	joins, polls := wait.NewHTTP(s.Wait, s.Zones), entry.NewHTTP(s.Entry, s.Zones, s.Passes)
	s.Echo = echo.New()
	s.Echo.IPExtractor = echo.ExtractIPDirect()
	s.Echo.HTTPErrorHandler = problem.Handler(s.Log, s.Meter)
	s.Echo.POST("/traffic/wait", joins.Join)
	s.Echo.POST("/traffic/leave", joins.Leave)
	s.Echo.GET("/traffic/zones/:zoneId", joins.State)
	s.Echo.POST("/traffic/entry", polls.Poll)
	s.Echo.GET("/.well-known/jwks.json", polls.Keys)
	s.Echo.GET("/.well-known/openid-configuration", polls.Discovery)
	s.Echo.GET("/.well-known/revoked", polls.Revoked)
	s.HTTP = openapitest.Public.Handler(tb, s.Echo)
}

// Set has an operator change the zone, from the defaults if there is none. The server knows it at once.
func (s *Server) Set(tb testing.TB, change func(*zone.Settings)) {
	tb.Helper()
	settings, err := s.Store.Store.Zone(tb.Context(), s.ZoneID)
	if err != nil {
		settings = zone.Defaults(s.ZoneID)
	}
	change(&settings)
	_, err = s.Store.Store.PutZone(tb.Context(), settings, nil, audit.By{})
	Must(tb, err)
	if s.Zones != nil {
		s.Zones.RunOnce(tb.Context())
	}
}

// Lined has the server believe that somebody waits, or nobody.
func (s *Server) Lined(tb testing.TB, is bool) {
	tb.Helper()
	s.Store.Lined(is)
	_, err := s.Zones.Observe(tb.Context(), s.ZoneID)
	Must(tb, err)
}

// Send sends a request. header is name, value, name, value; From is the address that it comes from.
func (s *Server) Send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	w, q := httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	if from := cmp.Or(s.From, q.Header.Get("From")); from != "" {
		q.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(from), 1234).String()
	}
	s.HTTP.ServeHTTP(w, q)
	return w
}

// Join joins the line as the client of this id.
func (s *Server) Join(clientID string) *httptest.ResponseRecorder {
	return s.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q}`, s.ZoneID, clientID))
}

// Poll polls with a token.
func (s *Server) Poll(tok string) *httptest.ResponseRecorder {
	return s.Send("POST", "/traffic/entry", fmt.Sprintf(`{"zoneId":%q,"token":%q}`, s.ZoneID, tok))
}

// Leave gives up the place of a token.
func (s *Server) Leave(tok string) *httptest.ResponseRecorder {
	return s.Send("POST", "/traffic/leave", fmt.Sprintf(`{"zoneId":%q,"token":%q}`, s.ZoneID, tok))
}

// Place is the place that a token carries, and Held with what it vouches for.
func (s *Server) Place(tb testing.TB, tok string) line.Place {
	tb.Helper()
	p := s.Held(tb, tok)
	return line.Place{ID: p.ID, ArrivedAtMicros: p.ArrivedAtMicros}
}

// Held is all that a token carries.
func (s *Server) Held(tb testing.TB, tok string) line.Place {
	tb.Helper()
	p, err := s.Tokens.Verify(s.ZoneID, tok)
	Must(tb, err)
	return p
}

// Stats is the zone as the store has it now.
func (s *Server) Stats(tb testing.TB) line.Stats {
	tb.Helper()
	o, err := s.Store.Store.Observe(context.Background(), s.ZoneID, 0)
	Must(tb, err)
	return o.Stats
}

// Document is an answer or a problem, as a client reads it.
type Document struct {
	ZoneID   string `json:"zoneId"`
	Token    string `json:"token"`
	CanEnter bool   `json:"canEnter"`
	Waiting  *struct {
		Position        int64 `json:"position"`
		Total           int64 `json:"total"`
		EstimatedWait   int64 `json:"estimatedWait"`
		PollingPeriod   int64 `json:"pollingPeriod"`
		ArrivedAtMicros int64 `json:"arrivedAtMicros"`
	} `json:"waiting"`
	Admission *struct {
		AdmittedAt int64  `json:"admittedAt"`
		ExpiresAt  int64  `json:"expiresAt"`
		Pass       string `json:"pass"`
	} `json:"admission"`
	Status    int                      `json:"status"`
	Code      string                   `json:"code"`
	Detail    string                   `json:"detail"`
	Challenge *challenge.RequiredError `json:"challenge"`
}

// Read reads an answer.
func Read(tb testing.TB, w *httptest.ResponseRecorder) Document {
	tb.Helper()
	var d Document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		tb.Fatalf("%s: %v", w.Body, err)
	}
	return d
}

// Must ends the test if there is an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	parts.Must(tb, err)
}
