package rehearse

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// issuerName is the iss of the passes.
const issuerName = "rehearsal"

// passTTL is how long a pass is good.
const passTTL = 5 * time.Minute

// opensIn is how far ahead the opening is that those hear of who gather.
const opensIn = 10 * time.Second

// sent is an answer as it goes out.
type sent struct {
	step        step
	status      int
	header      http.Header
	body        string
	token, pass string
}

// prepare makes the answer of a step to whoever has that place.
func prepare(issuer answer.Issuer, s step, zoneID string, place line.Place) sent {
	out := sent{step: s, status: http.StatusOK, header: http.Header{}}
	out.header.Set("Cache-Control", "no-store")
	switch {
	case s.page != 0:
		out.status, out.body = s.page, "<!doctype html><title>Gateway</title><p>Something went wrong.\n"
		out.header.Set("Content-Type", "text/html; charset=utf-8")
		if s.page >= 400 && s.page < 500 {
			out.body = `{"code": "ACCESS_DENIED", "message": "Blocked."}`
			out.header.Set("Content-Type", "application/json")
		}
		return out
	case s.problem.Status != 0:
		text, err := s.problem.Encode(out.header)
		if err != nil {
			panic(fmt.Errorf("rehearse: a problem cannot be written: %w", err))
		}
		out.status, out.body = s.problem.Status, string(text)
		if s.problem.Status == http.StatusMethodNotAllowed {
			out.header.Set("Allow", "OPTIONS, POST")
		}
		return out
	}
	period := s.period.Milliseconds()
	told := line.Told{
		Answer:         line.Answer{Status: line.Waiting, Place: place, Position: 1, PeriodMillis: period},
		EstimateMillis: period, LowMillis: period * 4 / 5, HighMillis: period * 6 / 5,
	}
	if s.enter {
		// As if it had been admitted when it came: so the pass is the same each time.
		told.Status, told.AdmittedAtMillis = line.Admitted, place.ArrivedAtMicros/1000
		told.ExpiresAtMillis = told.AdmittedAtMillis + passTTL.Milliseconds()
	}
	settings := zone.Defaults(zoneID)
	a, err := issuer.Answer(&settings, told)
	if err != nil {
		panic(fmt.Errorf("rehearse: an answer cannot be signed: %w", err))
	}
	if s.gathers {
		now := time.Now().UnixMilli()
		a.Event, a.OpensAtMillis = "rehearsed", now+opensIn.Milliseconds()
		a.Line.Position, a.Line.State = 0, line.State{NowMillis: now, Waiting: 1}
		opens := opensIn.Milliseconds()
		a.Line.EstimateMillis, a.Line.LowMillis, a.Line.HighMillis = opens, opens, opens
	}
	out.body, out.token, out.pass = string(a.AppendJSON(nil)), a.Token, a.Pass
	out.header.Set("Content-Type", "application/json")
	if !s.enter {
		out.header.Set("Retry-After", strconv.FormatInt(a.RetryAfterSeconds(), 10))
	}
	return out
}

// write sends the answer, or what arrives of it.
func (a sent) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Connection", "close")
	body := a.body
	switch a.step.how {
	case lost:
		panic(http.ErrAbortHandler)
	case cut:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:len(body)/2]
	default:
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, body) // to a client that may be gone
	if a.step.how == cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Rehearsal is the room. It may be used by many goroutines.
type Rehearsal struct {
	plays   []*play
	issuer  answer.Issuer
	passes  *pass.Signer
	anybody *cors.Policy

	mu    sync.Mutex
	stray []Finding // of requests that are of no act
}

// New returns a rehearsal of these acts for clients whose pauses are so many times as
// short as they are told.
func New(acts []Act, speed float64) (*Rehearsal, error) {
	secret := make([]byte, token.MinSecretBytes)
	_, _ = rand.Read(secret) // it never fails
	tokens, tokenErr := token.NewKeys(secret)
	passes, passErr := pass.NewSigner(issuerName, secret)
	anybody, corsErr := cors.New([]string{"*"})
	if err := errors.Join(tokenErr, passErr, corsErr); err != nil {
		return nil, err
	}
	r := &Rehearsal{issuer: answer.NewIssuer(tokens, passes), passes: passes, anybody: anybody}
	for _, a := range acts {
		r.plays = append(r.plays, newPlay(a, r.issuer, speed))
	}
	return r, nil
}

// play returns that of the zone, nil where there is none.
func (r *Rehearsal) play(zoneID string) *play {
	for _, p := range r.plays {
		if p.act.Name == zoneID {
			return p
		}
	}
	return nil
}

// Handler returns the room's routes.
func (r *Rehearsal) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /traffic/wait", func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, true) })
	mux.HandleFunc("POST /traffic/entry", func(w http.ResponseWriter, q *http.Request) { r.serve(w, q, false) })
	mux.HandleFunc("POST /traffic/leave", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	// A client asks there for the commitment of an event's draw, as clients/js does.
	mux.HandleFunc("GET /traffic/zones/{zoneId}", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=1")
		_ = json.NewEncoder(w).Encode(map[string]any{"zoneId": q.PathValue("zoneId"), "mode": "queue", "waiting": 1, "estimatedWait": 1000}) // to a client that may be gone
	})
	mux.HandleFunc("GET /service", r.service)
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		r.refuse(w, refusal.NotFound.Document(), "%s %s is not of the room", q.Method, q.URL.Path)
	})
	return r.anybody.Handler(mux)
}

// refuse answers a request that is of no act.
func (r *Rehearsal) refuse(w http.ResponseWriter, p refusal.Document, format string, a ...any) {
	r.mu.Lock()
	r.stray = append(r.stray, Finding{Rule: RuleForm, Text: fmt.Sprintf(format, a...)})
	r.mu.Unlock()
	prepare(r.issuer, step{problem: p}, "", line.Place{}).write(w)
}

// serve answers a join or a poll.
func (r *Rehearsal) serve(w http.ResponseWriter, q *http.Request, joins bool) {
	in := request{joins: joins}
	body, err := io.ReadAll(io.LimitReader(q.Body, serve.MaxBody+1))
	if err != nil || len(body) > serve.MaxBody || json.Unmarshal(body, &in.body) != nil {
		r.refuse(w, refusal.Invalid.Document(), "the body of a %s is no JSON object of at most %d bytes", in, serve.MaxBody)
		return
	}
	p := r.play(in.text("zoneId"))
	if p == nil {
		r.refuse(w, refusal.Describe(line.ErrZoneUnknown), "a %s names the zone %q, which is no act that is played", in, in.text("zoneId"))
		return
	}
	a, number := p.ask(in)
	if a.step.how == slow {
		began := time.Now()
		if sleep(q.Context(), slowAnswer) != nil {
			p.hungUp(number, time.Since(began))
			panic(http.ErrAbortHandler)
		}
		p.waited(number, a)
	}
	a.write(w)
}

// PassParameter carries the pass in the address, where no header can be set: a page of
// another site may not send Authorization.
const PassParameter = "waiting_room_pass"

// service is what stands behind the room: it wants a pass.
func (r *Rehearsal) service(w http.ResponseWriter, q *http.Request) {
	shown, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	if !ok {
		shown = q.URL.Query().Get(PassParameter)
	}
	grant, err := r.passes.Verify(shown, time.Now())
	p := r.play(grant.ZoneID)
	if err != nil || p == nil {
		r.refuse(w, refusal.Describe(token.ErrInvalid), "the service was shown no pass of this room as Authorization: Bearer")
		return
	}
	p.enter(shown)
	w.WriteHeader(http.StatusNoContent)
}
