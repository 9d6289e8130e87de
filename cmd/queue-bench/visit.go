package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

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

// polls has each connection ask for somebody of the crowd, at random.
type polls struct {
	crowd *crowd
	text  []byte
	at    int // where the token lies in the request
}

func newPolls(zoneID string, of *crowd) polls { return withToken("/traffic/entry", zoneID, of) }

// withToken makes requests that carry a token.
func withToken(path, zoneID string, of *crowd) polls {
	placeholder := bytes.Repeat([]byte{'x'}, tokenSize)
	text := post(path, fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, placeholder))
	return polls{crowd: of, text: text, at: bytes.Index(text, placeholder)}
}

func (p polls) request() []byte { return p.text }

func (p polls) begin(c *client, rng *rand.Rand) {
	copy(c.request[p.at:p.at+tokenSize], p.crowd.token(rng.IntN(p.crowd.len())))
}

func (polls) end(int, []byte) error { return nil }

// joins has each connection take places, and keeps their tokens.
type joins struct {
	text  []byte
	found []crowd // by each connection
}

func newJoins(zoneID string, conns int) joins {
	return joins{
		text:  post("/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientIp":"203.0.113.9","clientAgent":"WEB"}`, zoneID)),
		found: make([]crowd, conns),
	}
}

func (j joins) request() []byte { return j.text }

func (joins) begin(*client, *rand.Rand) {}

var beforeToken = []byte(`"token":"`)

func (j joins) end(worker int, body []byte) error {
	at := bytes.Index(body, beforeToken) + len(beforeToken)
	if at < len(beforeToken) || at+tokenSize > len(body) {
		return fmt.Errorf("%w: no token in %.100q", errAnswer, body)
	}
	mine := &j.found[worker]
	mine.tokens = append(mine.tokens, body[at:at+tokenSize]...)
	return nil
}

// add puts those who joined behind the others.
func (c *crowd) add(j joins) {
	for _, found := range j.found {
		c.tokens = append(c.tokens, found.tokens...)
	}
}

// leaves has all of the crowd leave, one after the other.
type leaves struct {
	polls
	next *atomic.Int64
}

func newLeaves(zoneID string, of *crowd) leaves {
	return leaves{polls: withToken("/traffic/leave", zoneID, of), next: new(atomic.Int64)}
}

func (l leaves) begin(c *client, _ *rand.Rand) {
	copy(c.request[l.at:l.at+tokenSize], l.crowd.token(int(l.next.Add(1)-1)))
}
