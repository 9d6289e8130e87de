package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

const (
	// tokenSize is the length of a token; see package token.
	tokenSize = token.Size
	// benchZone is the zone that is measured.
	benchZone = "BENCH"
)

// crowd are those who wait at one server: their tokens, one behind the other.
type crowd struct{ tokens []byte }

func (c *crowd) len() int           { return len(c.tokens) / tokenSize }
func (c *crowd) token(i int) []byte { return c.tokens[i*tokenSize : (i+1)*tokenSize] }

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

// renew has the tokens say that their visitors are due now, as do those of clients that keep the newest: the stores look
// whoever comes later up, and remember less for who comes earlier.
func (c *crowd) renew(keys *token.Keys) error {
	places, err := c.places(keys)
	now := time.Now().UnixMilli()
	for i, p := range places {
		p.DueMillis = now
		copy(c.token(i), keys.Sign(benchZone, p))
	}
	return err
}

// question is what the connections of a load ask, each in a goroutine of its own.
type question struct {
	// request is what each sends, but for what next writes over it from at on.
	request []byte
	at      int
	next    func(part []byte)
	// seen takes in an answer that was not refused.
	seen func(body []byte) error
}

// withToken asks for whom pick picks.
func withToken(path string, pick func() []byte) question {
	request := post(path, fmt.Sprintf(`{"zoneId":%q,"token":%q}`, benchZone, strings.Repeat("x", tokenSize)))
	return question{
		request: request, at: bytes.Index(request, []byte("xxx")),
		next: func(part []byte) { copy(part, pick()) },
	}
}

// polls are of somebody of the crowd, at random.
func polls(of *crowd) question {
	return withToken("/traffic/entry", func() []byte { return of.token(rand.IntN(of.len())) })
}

// inTurn asks for all of the crowd, one after the other, again and again.
func inTurn(path string, of *crowd) question {
	var next atomic.Int64
	return withToken(path, func() []byte { return of.token(int(next.Add(1)-1) % of.len()) })
}

var beforeToken = []byte(`"token":"`)

// joins take places, and put the tokens of those who wait behind those of the crowd.
func joins(into *crowd) question {
	var mu sync.Mutex
	return question{
		request: post("/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientIp":"203.0.113.9","clientAgent":"WEB"}`, benchZone)),
		seen: func(body []byte) error {
			at := bytes.Index(body, beforeToken) + len(beforeToken)
			size := bytes.IndexByte(body[max(at, 0):], '"')
			if at < len(beforeToken) || size < 0 {
				return fmt.Errorf("%w: no token in %.100q", errAnswer, body)
			}
			if size != tokenSize { // that of one who is admitted, and does not wait
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			into.tokens = append(into.tokens, body[at:at+tokenSize]...)
			return nil
		},
	}
}
