package adminclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// Request is one call of the API.
type Request struct {
	// ID names the call, as in the tables of routes and in the description of the API: getZone.
	ID string
	// Parts are those of the call's path, in order.
	Parts []string
	// Query are parameters. Those that are empty are left out.
	Query map[string]string
	// Only is the condition under which a change is made. Where it does not hold, the error is ErrConflict.
	Only serve.Condition
	// Body is sent as JSON, unless it is nil.
	Body any
}

// routes are the calls of the operators' API, by their IDs.
var routes = sync.OnceValue(func() map[string]route.Route {
	all := make(map[string]route.Route)
	for _, r := range slices.Concat((*operator.HTTP)(nil).Routes(), (*policyset.HTTP)(nil).Routes(), (*people.HTTP)(nil).Routes()) {
		all[r.ID] = r
	}
	return all
})

// routeOf returns the call of that ID. It panics if the API has none: a mistake in the program, which ends it before anything is asked.
func routeOf(id string) route.Route {
	r, known := routes()[id]
	if !known {
		panic("adminclient: the API has no call " + id)
	}
	return r
}

// Needs says in a sentence which role the call of that ID needs.
func Needs(id string) string {
	r := routeOf(id)
	return r.Needs()
}

var part = regexp.MustCompile(`\{\w+\}`)

// address returns the method and the path of a request.
func (r Request) address() (method, path string) {
	of, parts := routeOf(r.ID), r.Parts
	path = part.ReplaceAllStringFunc(of.Path, func(string) string {
		first := url.PathEscape(parts[0])
		parts = parts[1:]
		return first
	})
	query := url.Values{}
	for name, value := range r.Query {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return of.Method, path
}

// Reply is what the server answered.
type Reply[T any] struct {
	// Value is the answer, decoded.
	Value T
	// JSON is the answer as it came, for scripts; empty where there is none.
	JSON json.RawMessage
	// Version names the settings that were read, for a later change to be made
	// only if they are still the same; "" where the server does not tell.
	Version string
}

// Call makes one request and decodes its answer.
func Call[T any](ctx context.Context, c *Client, r Request) (Reply[T], error) {
	var reply Reply[T]
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	req, err := c.request(ctx, r)
	if err != nil {
		return reply, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply, c.unreachable(ctx, err)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return reply, c.unreachable(ctx, err)
	}
	if res.StatusCode/100 != http.StatusOK/100 {
		return reply, c.refusal(res, text)
	}
	if said := readWarning(res.Header); said != "" && c.options.Warned != nil {
		c.options.Warned(said)
	}
	reply.Version = res.Header.Get("ETag")
	if res.StatusCode == http.StatusNoContent {
		return reply, nil
	}
	if !isMedia(res.Header, "application/json") || json.Unmarshal(text, &reply.Value) != nil {
		return reply, &unreachableError{c.options.URL, errStranger}
	}
	reply.JSON = bytes.TrimSpace(text)
	return reply, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var text []byte
	if r.Body != nil {
		var err error
		if text, err = json.Marshal(r.Body); err != nil {
			return nil, fmt.Errorf("adminclient: encode: %w", err)
		}
	}
	method, path := r.address()
	req, err := http.NewRequestWithContext(ctx, method, c.options.URL+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("adminclient: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.options.Token)
	req.Header.Set("User-Agent", serve.CLIAgent)
	req.Header.Set("Accept", "application/json, "+refusal.ContentType)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{serve.ByHeader: c.options.Operator, "If-Match": r.Only.IfMatch, "If-None-Match": r.Only.IfNoneMatch} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}
