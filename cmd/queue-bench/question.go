package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

const (
	// tokenSize is the length of a token; see package token.
	tokenSize = token.Size
	// benchZone is the zone that is measured, warmZone the one that warms
	// servers up before anything is.
	benchZone = "BENCH"
	warmZone  = "WARM"
)

// crowd are those who wait at one server: their tokens, one behind the other.
type crowd struct{ tokens []byte }

func (c *crowd) len() int           { return len(c.tokens) / tokenSize }
func (c *crowd) token(i int) []byte { return c.tokens[i*tokenSize : (i+1)*tokenSize] }

// cut returns those after the first n, and keeps these.
func (c *crowd) cut(n int) crowd {
	rest := crowd{c.tokens[n*tokenSize:]}
	c.tokens = c.tokens[:n*tokenSize]
	return rest
}

// places reads what the tokens carry.
func (c *crowd) places(keys *token.Keys) ([]line.Place, error) {
	places := make([]line.Place, c.len())
	for i := range places {
		var err error
		if places[i], err = keys.Verify(benchZone, string(c.token(i))); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// renew has the tokens say that their visitors are due now, as do those of clients that keep
// the newest: the stores look whoever comes later up, and remember less for who comes earlier.
func (c *crowd) renew(keys *token.Keys) error {
	now, each := time.Now().UnixMilli(), c.len()/runtime.GOMAXPROCS(0)+1
	var all errgroup.Group
	for some := range slices.Chunk(c.tokens, each*tokenSize) {
		all.Go(func() error {
			part := crowd{some}
			places, err := part.places(keys)
			for i := range places {
				places[i].DueMillis = now
				copy(part.token(i), keys.Sign(benchZone, places[i]))
			}
			return err
		})
	}
	return all.Wait()
}

// question is what the connections of a load ask, each in a goroutine of its own.
type question struct {
	// request is what each sends, but for what next writes over it from at on.
	request []byte
	at      int
	next    func(part []byte)
	// seen takes in an answer that was not refused.
	seen func(body []byte) error
	// noted: a server on Redis tells Redis of it later.
	noted bool
}

// about asks with a part of the body, marked by x, that differs from request to request.
func about(path, body string, next func(part []byte)) question {
	request := post(path, body)
	return question{request: request, at: bytes.Index(request, []byte("xxx")), next: next}
}

// withToken asks for whom pick picks.
func withToken(path, zoneID string, pick func() []byte) question {
	return about(path, fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, strings.Repeat("x", tokenSize)),
		func(part []byte) { copy(part, pick()) })
}

// polls are of somebody of the crowd, at random.
func polls(zoneID string, of *crowd) question {
	q := withToken("/traffic/entry", zoneID, func() []byte { return of.token(rand.IntN(of.len())) })
	q.noted = true
	return q
}

// inTurn asks for all of the crowd, one after the other, again and again.
func inTurn(path string, of *crowd) question {
	var next atomic.Int64
	return withToken(path, benchZone, func() []byte { return of.token(int(next.Add(1)-1) % of.len()) })
}

var beforeToken = []byte(`"token":"`)

// joins take places, and puts their tokens behind those of the crowd.
func joins(zoneID string, into *crowd) question {
	return question{
		request: post("/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientIp":"203.0.113.9","clientAgent":"WEB"}`, zoneID)),
		seen:    into.take(),
	}
}

// take returns what puts the tokens of answers behind those of the crowd.
func (c *crowd) take() func(body []byte) error {
	var mu sync.Mutex
	return func(body []byte) error {
		at := bytes.Index(body, beforeToken) + len(beforeToken)
		if at < len(beforeToken) || at+tokenSize > len(body) {
			return fmt.Errorf("%w: no token in %.100q", errAnswer, body)
		}
		mu.Lock()
		defer mu.Unlock()
		c.tokens = append(c.tokens, body[at:at+tokenSize]...)
		return nil
	}
}

// joinsByName are joins with a clientId, each with another.
func joinsByName(zoneID string, into *crowd) question {
	const digits = 16
	q := about("/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q}`, zoneID, strings.Repeat("x", digits)),
		func(part []byte) { copy(part, fmt.Sprintf("%0*x", digits, rand.Uint64())) })
	q.seen = into.take()
	return q
}

// checkDigits is how long a client's number is.
const checkDigits = 6

// checks ask whether a policy lets a client go on, at random one of so many.
func checks(policy string, clients int) question {
	return about("/limits/"+policy+"/check", fmt.Sprintf(`{"key":"member:%s"}`, strings.Repeat("x", checkDigits)),
		func(part []byte) {
			for i, n := checkDigits-1, rand.IntN(clients); i >= 0; i, n = i-1, n/10 {
				part[i] = byte('0' + n%10)
			}
		})
}
