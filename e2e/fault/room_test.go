package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
)

// afterBreak is when a visitor comes back whose connection broke, for the first time. The
// pause doubles each time, so often at most.
const (
	afterBreak  = time.Second
	mostDoubles = 4
)

// service is what a visitor goes through.
type service interface {
	join(ctx context.Context, zoneID, clientID string) (told, error)
	poll(ctx context.Context, zoneID, token string) (told, error)
}

// told is an answer.
type told struct {
	token    string
	admitted bool
	// position, period and arrivedAtMicros: while waiting.
	position        int64
	period          time.Duration
	arrivedAtMicros int64
	// estimate is how long it will wait, told at a time of the visitor's clock.
	estimate estimate.Told
	// admittedAtMillis and pass: once admitted.
	admittedAtMillis int64
	pass             string
}

// refusal is the error for everything that is no answer.
type refusal struct {
	// code is that of the problem document, or broken for no document.
	code string
	// status is that of the answer, 0 where none came.
	status int
	// after is when to come back, for the first time where the server has not told it.
	after time.Duration
	told  bool
	err   error
}

// The codes that the crowd tells apart.
const (
	codeUnavailable = "store_unavailable"
	codeExpired     = "token_expired"
	codeUnknown     = "zone_unknown"
	codeBroken      = "broken"
)

func (r *refusal) Error() string { return fmt.Sprintf("%s: %v", r.code, r.err) }
func (r *refusal) Unwrap() error { return r.err }

// balancer passes requests to servers in turn. One that refuses connections is
// passed over; a request that was sent is not sent again.
type balancer struct {
	client  *http.Client
	servers []*server
	next    atomic.Uint64
}

func newBalancer(servers ...*server) *balancer {
	return &balancer{
		servers: servers,
		client: &http.Client{
			Timeout:   requestTimeout,
			Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
		},
	}
}

// close gives the connections back.
func (b *balancer) close() { b.client.CloseIdleConnections() }

func (b *balancer) join(ctx context.Context, zoneID, clientID string) (told, error) {
	return b.post(ctx, "/traffic/wait", map[string]string{"zoneId": zoneID, "clientId": clientID})
}

func (b *balancer) poll(ctx context.Context, zoneID, token string) (told, error) {
	return b.post(ctx, "/traffic/entry", map[string]string{"zoneId": zoneID, "token": token})
}

func (b *balancer) post(ctx context.Context, path string, body map[string]string) (told, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return told{}, err
	}
	at := b.next.Add(1)
	for range b.servers {
		s := b.servers[at%uint64(len(b.servers))]
		var t told
		t, err = b.ask(ctx, s.public+path, string(text))
		if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "dial" {
			return t, err
		}
		at++
	}
	return told{}, err
}

// answer is either of the contract's documents.
type answer struct {
	Token    string `json:"token"`
	CanEnter *bool  `json:"canEnter"`
	Waiting  struct {
		Position           int64 `json:"position"`
		PollingPeriod      int64 `json:"pollingPeriod"`
		ArrivedAtMicros    int64 `json:"arrivedAtMicros"`
		EstimatedWait      int64 `json:"estimatedWait"`
		EstimatedWaitRange struct {
			Low  int64 `json:"low"`
			High int64 `json:"high"`
		} `json:"estimatedWaitRange"`
	} `json:"waiting"`
	Admission struct {
		AdmittedAt int64  `json:"admittedAt"`
		Pass       string `json:"pass"`
	} `json:"admission"`
	Code string `json:"code"`
}

func (b *balancer) ask(ctx context.Context, url, body string) (told, error) {
	broken := func(err error) (told, error) {
		return told{}, &refusal{code: codeBroken, after: afterBreak, err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return broken(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.client.Do(req)
	if err != nil {
		return broken(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return broken(err)
	}
	if err := held(openapitest.Public, req, body, res, text); err != nil {
		undescribed := &refusal{code: codeUndescribed, status: res.StatusCode, after: afterBreak, err: err}
		if !strings.Contains(string(text), ratelimit.TypeBase) { // of something in between
			undescribed.status = 0
		}
		return told{}, undescribed
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return broken(fmt.Errorf("%d %s: %w", res.StatusCode, text, err))
	}
	if res.StatusCode != http.StatusOK {
		return told{}, refused(res, a.Code, text)
	}
	if a.CanEnter == nil || *a.CanEnter && a.Admission.Pass == "" {
		return broken(fmt.Errorf("neither let in nor told to wait: %s", text))
	}
	return told{
		token: a.Token, admitted: *a.CanEnter,
		position: a.Waiting.Position, arrivedAtMicros: a.Waiting.ArrivedAtMicros,
		period:           time.Duration(a.Waiting.PollingPeriod) * time.Millisecond,
		admittedAtMillis: a.Admission.AdmittedAt, pass: a.Admission.Pass,
		estimate: estimate.Told{
			AtMicros: time.Now().UnixMicro(), Millis: a.Waiting.EstimatedWait,
			LowMillis: a.Waiting.EstimatedWaitRange.Low, HighMillis: a.Waiting.EstimatedWaitRange.High,
		},
	}, nil
}

// refused reads a problem document. One of an absent store has to say when to
// come back.
func refused(res *http.Response, code string, text []byte) error {
	r := &refusal{code: code, status: res.StatusCode, after: afterBreak, err: fmt.Errorf("%d %s", res.StatusCode, text)}
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err == nil && seconds > 0 {
		r.after, r.told = time.Duration(seconds)*time.Second, true
	} else if code == codeUnavailable {
		r.code = "no Retry-After"
	}
	if (code == codeUnavailable) != (res.StatusCode == http.StatusServiceUnavailable) {
		r.code = fmt.Sprintf("%d %s", res.StatusCode, code)
	}
	return r
}
