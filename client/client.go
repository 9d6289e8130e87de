package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	// callTimeout is after how long a call counts as lost.
	callTimeout = 3 * time.Second
	// longestBackoff bounds the pauses after calls without an answer: 1, 2, 4, 8 and every 16 s.
	longestBackoff = 16 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes: those of the room have some hundred.
	maxAnswer = 1 << 20
)

// Options say where and how to wait.
type Options struct {
	// URL is the waiting room's origin, such as https://queue.shop.example.
	URL string
	// Zone is the zone to wait in, exactly as the operator named it.
	Zone string
	// ClientID names the user or the installation: a repeated join with it finds the same place. A random UUID if it is "".
	ClientID string
	// Token is the newest token of an earlier wait that is to go on; "" for none.
	Token string
	// Agent is what the operator counts visitors by, 1 to 32 letters, digits, _ and -; "" for none.
	Agent string
	// Ticket is the invitation, where visitors need one to join; "" for none.
	Ticket string
	// HTTP makes the calls; nil for http.DefaultClient. Its Timeout is not used.
	HTTP *http.Client
	// OnChallenge returns the token of a provider, where the zone asks for one: see Challenge. Nil: such a zone ends the wait. Work
	// needs nothing.
	OnChallenge func(context.Context, Challenge) (token string, err error)
	// OnUpdate is called after each answer that asks to wait, and after each call without an answer. It may be nil.
	OnUpdate func(Update)
}

// Update is what a waiting person may want to see.
type Update struct {
	// Token is the newest: Options.Token goes on with it. "" without a place.
	Token string
	// PlaceID is the reference of the place, to show and to log; it is no secret. "" where Code is not "".
	PlaceID string
	// Code is the problem's, such as "line_full", or "no_answer" where none came; "" for an answer that asks to wait, of
	// which Waiting tells.
	Code string
	// Next is in how long the room is asked again.
	Next    time.Duration
	Waiting Waiting
}

// Waiting is a place in the line.
type Waiting struct {
	// Position is 1 for the next. It never rises. 0 while people gather for an event: nobody has a number then.
	Position int64 `json:"position"`
	// Total is how many wait.
	Total int64 `json:"total"`
	// EstimatedWait is in milliseconds. A day, the most, also means "not at present".
	EstimatedWait int64 `json:"estimatedWait"`
	// EstimatedWaitRange holds the wait four times of five, in milliseconds; nil where it is not known.
	EstimatedWaitRange *struct {
		Low  int64 `json:"low"`
		High int64 `json:"high"`
	} `json:"estimatedWaitRange"`
	// PollingPeriod is in milliseconds.
	PollingPeriod int64 `json:"pollingPeriod"`
	// ArrivedAtMicros is when the place was taken, in Unix microseconds.
	ArrivedAtMicros int64 `json:"arrivedAtMicros"`
	// Reason says why the estimate moved, such as "on_hold"; "" as a rule.
	Reason string `json:"reason"`
}

// Admission is the end of a wait.
type Admission struct {
	// Pass is the JSON Web Token that the protected service verifies.
	Pass string `json:"pass"`
	// AdmittedAt and ExpiresAt are Unix milliseconds on the room's clock.
	AdmittedAt int64 `json:"admittedAt"`
	ExpiresAt  int64 `json:"expiresAt"`
	// Token is that of the place.
	Token string `json:"-"`
}

// RefusedError is the error of a wait that ended without a pass.
type RefusedError struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is the problem's, as in /openapi.yaml: "token_expired" where the place is gone, "sold_out", "zone_closed" ...
	Code string `json:"code"`
	// Detail is a sentence for people.
	Detail string `json:"detail"`
	// Challenge is what the room asks for; nil but where Code is "challenge_required".
	Challenge *Challenge `json:"challenge"`
}

// Error returns the sentence and the code.
func (r *RefusedError) Error() string {
	return fmt.Sprintf("waiting room: %s (%d %s)", r.Detail, r.Status, r.Code)
}

// Wait joins the line, asks when the server wants to be asked, and returns the admission. Its error is a *RefusedError where the
// room says that there is nothing to wait for, and the context's when that ends: the place then stays for as long as the zone keeps places.
func Wait(ctx context.Context, o Options) (Admission, error) {
	o.ClientID = cmp.Or(o.ClientID, uuid.NewString())
	solution, challenges := "", 0 // of the latest challenge: it is sent until there is a place
	for failures := 0; ; {
		path, ask := "/traffic/entry", question{Zone: o.Zone, Token: o.Token}
		join := o.Token == ""
		if join {
			path, ask = "/traffic/wait", question{Zone: o.Zone, ClientID: o.ClientID, Agent: o.Agent, Ticket: o.Ticket, Challenge: solution}
		}
		a := o.call(ctx, path, ask)
		if err := ctx.Err(); err != nil {
			return Admission{}, err
		}
		if c := a.problem.Challenge; join && !a.lost && c != nil && challenges < mostChallenges {
			challenges++
			met, err := o.meet(ctx, c)
			if err != nil {
				return Admission{}, err
			}
			if met != "" {
				solution = met
				continue
			}
		}
		u := Update{Code: a.problem.Code, Next: a.retryAfter}
		switch {
		case a.lost:
			// No answer, a 500, or one that cannot be read. The place is kept.
			pause := min(time.Second<<min(failures, 10), longestBackoff)
			failures++
			u.Code, u.Next = cmp.Or(u.Code, "no_answer"), pause+rand.N(pause/4)
		case a.status == http.StatusOK && a.told.CanEnter:
			a.told.Admission.Token = a.told.Token
			return a.told.Admission, nil
		case a.status == http.StatusOK:
			o.Token = a.told.Token
			u.PlaceID, u.Waiting = a.told.PlaceID, a.told.Waiting
			u.Next = time.Duration(a.told.Waiting.PollingPeriod) * time.Millisecond
		case a.status == http.StatusUnauthorized && !join:
			o.Token, u.Next = "", 0 // the token is not of this room: a new place is taken
		case a.status != http.StatusRequestTimeout && a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable:
			a.problem.Status = a.status
			return Admission{}, &a.problem
		}
		if !a.lost {
			failures = 0
		}
		if u.Token = o.Token; o.OnUpdate != nil {
			o.OnUpdate(u)
		}
		if !sleep(ctx, u.Next, wallClock) {
			return Admission{}, ctx.Err()
		}
	}
}

// Leave gives the place of Options.Token up, so that the line is as long as it looks. It makes one call; a lost one costs
// nobody anything, and is an error.
func Leave(ctx context.Context, o Options) error {
	a := o.call(ctx, "/traffic/leave", question{Zone: o.Zone, Token: o.Token})
	switch {
	case a.status == http.StatusNoContent:
		return nil
	case a.lost:
		return errors.Join(ctx.Err(), errors.New("waiting room: no answer"))
	}
	a.problem.Status = a.status
	return &a.problem
}

// question is a request's body.
type question struct {
	Zone      string `json:"zoneId"`
	Token     string `json:"token,omitempty"`
	ClientID  string `json:"clientId,omitempty"`
	Agent     string `json:"clientAgent,omitempty"`
	Ticket    string `json:"ticket,omitempty"`
	Challenge string `json:"challenge,omitempty"`
}

// answer is what is known of one.
type answer struct {
	status int
	// lost: none came that can be used. Whether the server has done what was asked is not known.
	lost       bool
	told       told
	problem    RefusedError
	retryAfter time.Duration
}

// told is what a 200 says.
type told struct {
	Token     string    `json:"token"`
	PlaceID   string    `json:"placeId"`
	CanEnter  bool      `json:"canEnter"`
	Waiting   Waiting   `json:"waiting"`
	Admission Admission `json:"admission"`
}

// call sends one request, once.
func (o Options) call(ctx context.Context, path string, q question) answer {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return answer{lost: true}
	}
	// A body that cannot be had again: the transport sends no request a second time by itself.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(o.URL, "/")+path, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return answer{lost: true}
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	res, err := cmp.Or(o.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return answer{lost: true}
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return answer{lost: true}
	}
	return read(res.StatusCode, res.Header.Get("Retry-After"), text)
}

// read holds an answer against what the API promises of it.
func read(status int, retryAfter string, text []byte) answer {
	a := answer{status: status}
	if status == http.StatusNoContent {
		return a
	}
	if status == http.StatusOK {
		if err := json.Unmarshal(text, &a.told); err != nil {
			a.lost = true
		}
		whole := a.told.Waiting.PollingPeriod > 0
		if a.told.CanEnter {
			whole = a.told.Admission.Pass != ""
		}
		a.lost = a.lost || a.told.Token == "" || !whole
		return a
	}
	var problem struct {
		RefusedError
		Type string `json:"type"`
	}
	readable := json.Unmarshal(text, &problem) == nil
	a.problem = problem.RefusedError
	seconds, err := strconv.Atoi(retryAfter)
	if err != nil {
		seconds = 0 // none, or a date: not of this room
	}
	// The room's problems have a type that ends with their code, and its 503 says when to come again. Others are of something
	// between.
	ours := status >= 400 && status < 500 && problem.Code != "" && strings.HasSuffix(problem.Type, "#"+problem.Code)
	a.lost = !readable || !ours && (status != http.StatusServiceUnavailable || seconds <= 0)
	a.retryAfter = time.Duration(max(1, seconds)) * time.Second
	return a
}

// lookEvery is how often sleep looks at the wall clock: timers stand still while a machine sleeps.
const lookEvery = 5 * time.Second

// sleep reports whether so long has passed by the wall clock before the context ended. A clock that was set back makes it longer by
// lookEvery at most.
func sleep(ctx context.Context, d time.Duration, wall func() time.Time) bool {
	for d > 0 {
		timer, began := time.NewTimer(min(d, lookEvery)), wall()
		select {
		case <-timer.C:
			d -= max(0, wall().Sub(began))
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
	return ctx.Err() == nil
}

// wallClock is the time without what Go's timers go by.
func wallClock() time.Time { return time.Now().Round(0) }
