package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/challenge"
)

// requestTimeout is what a client bears. The server answers far sooner.
const requestTimeout = 3 * time.Second

// A visitor whose connection breaks off tries again after a second; after each further break the
// pause doubles, so often at most.
const (
	afterBreak  = time.Second
	mostDoubles = 4
)

// service is what a visitor goes through.
type service interface {
	join(ctx context.Context, zoneID, clientID string) (room.Answer, error)
	poll(ctx context.Context, zoneID, token string) (room.Answer, error)
}

// refusal is the error for everything that is no answer.
type refusal struct {
	// code is that of the problem document, or one of those below.
	code string
	// status is that of the answer, 0 where none came.
	status int
	// after is when to come back, for the first time where the server has not told it.
	after time.Duration
	told  bool
	err   error
	// challenge is the work that is to be done first; nil for none.
	challenge *challenge.RequiredError
}

// The codes that the crowd tells apart.
const (
	codeUnavailable = "store_unavailable"
	codeExpired     = "token_expired"
	codeUnknown     = "zone_unknown"
	// codeBroken: no answer came, or one of something in between.
	codeBroken = "broken"
	// codeOdd is a refusal by the test itself, of an answer that is not as the API describes it. No fault
	// excuses it.
	codeOdd = "not described"
)

func (r *refusal) Error() string { return fmt.Sprintf("%s: %v", r.code, r.err) }
func (r *refusal) Unwrap() error { return r.err }

// balancer passes requests to servers in turn. One that refuses connections is
// passed over; a request that was sent is not sent again.
type balancer struct {
	client  *http.Client
	servers []*room.Server
	next    atomic.Uint64
	// solutions are those of challenges, by clientId: a join goes with it until there is a place.
	solutions sync.Map
}

func newBalancer(servers ...*room.Server) *balancer {
	return &balancer{servers: servers, client: &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
	}}
}

// close gives the connections back.
func (b *balancer) close() { b.client.CloseIdleConnections() }

func (b *balancer) join(ctx context.Context, zoneID, clientID string) (room.Answer, error) {
	body := map[string]string{"zoneId": zoneID, "clientId": clientID}
	if solution, ok := b.solutions.Load(clientID); ok {
		body["challenge"], _ = solution.(string)
	}
	told, err := b.post(ctx, "/traffic/wait", body)
	no := (*refusal)(nil)
	if body["challenge"] != "" || !errors.As(err, &no) || no.challenge == nil {
		return told, err
	}
	if body["challenge"], err = challenge.Solve(ctx, *no.challenge.Work); err != nil {
		return told, err
	}
	b.solutions.Store(clientID, body["challenge"])
	return b.post(ctx, "/traffic/wait", body)
}

func (b *balancer) poll(ctx context.Context, zoneID, token string) (room.Answer, error) {
	return b.post(ctx, "/traffic/entry", map[string]string{"zoneId": zoneID, "token": token})
}

func (b *balancer) post(ctx context.Context, path string, body map[string]string) (room.Answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return room.Answer{}, err
	}
	at := b.next.Add(1)
	var r room.Reply
	for range b.servers {
		s := b.servers[at%uint64(len(b.servers))]
		r, err = room.Ask(ctx, b.client, http.MethodPost, s.Public+path, string(text), "Content-Type", "application/json")
		if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "dial" {
			break
		}
		at++
	}
	return read(r, err)
}

// read reads an answer, or the problem of a refusal.
func read(r room.Reply, err error) (told room.Answer, _ error) {
	switch {
	case err != nil && r.Status == 0:
		return told, &refusal{code: codeBroken, after: afterBreak, err: err}
	case err != nil:
		return told, &refusal{code: codeOdd, status: r.Status, after: afterBreak, err: err}
	}
	err = json.Unmarshal([]byte(r.Body), &told)
	if r.Status == http.StatusOK && err == nil && told.Token != "" {
		return told, nil
	}
	no := &refusal{code: told.Code, status: r.Status, after: afterBreak, err: fmt.Errorf("%d %s", r.Status, r.Body), challenge: told.Challenge}
	seconds, notTold := strconv.Atoi(r.Header.Get("Retry-After"))
	if no.told = notTold == nil && seconds > 0; no.told {
		no.after = time.Duration(seconds) * time.Second
	}
	switch {
	case err != nil || told.Code == "" || !strings.HasSuffix(told.Type, "#"+told.Code): // of something in between
		no.code, no.status = codeBroken, 0
	case (no.code == codeUnavailable) != (r.Status == http.StatusServiceUnavailable), no.code == codeUnavailable && !no.told:
		no.code = codeOdd
	}
	return room.Answer{}, no
}
