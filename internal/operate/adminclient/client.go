package adminclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// DefaultTimeout bounds a call, from the dial to the last byte. A server
	// answers in milliseconds; one whose store is away takes half a second to
	// say so.
	DefaultTimeout = 10 * time.Second
	// dialTimeout is for the connection alone, so that a machine that is down
	// is told from one that is slow.
	dialTimeout = 4 * time.Second
	// maxAnswer bounds what is read of an answer: ten thousand zones are 2 MB.
	maxAnswer = 64 << 20
)

// Options say which server, and who asks.
type Options struct {
	// URL is that of the operators' listener, such as http://127.0.0.1:8081.
	URL string
	// Token is the operators' token.
	Token string
	// Operator is the name for the record of changes: see zone.CheckBy; "" for none.
	Operator string
	// Timeout bounds a call; 0 means DefaultTimeout.
	Timeout time.Duration
	// Warned hears what the server says of a change that was made and is not kept.
	// May be nil.
	Warned func(sentence string)
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
}

// New returns a client, or an error that says what is wrong with the options.
// No call is made.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the server must look like http://127.0.0.1:8081")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("the address of the server must have no user, query or fragment: the token goes another way")
	}
	if err := zone.CheckBy(o.Operator); err != nil {
		return nil, fmt.Errorf("the operator's name %w", err)
	}
	o.URL, o.Timeout = strings.TrimRight(o.URL, "/"), cmp.Or(o.Timeout, DefaultTimeout)
	return &Client{o, &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			IdleConnTimeout:     time.Minute,
			ForceAttemptHTTP2:   true,
		},
		// The token is for this server only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL is the server's, as it was given, without a slash at its end.
func (c *Client) URL() string { return c.options.URL }

// Close closes the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

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

// call makes one request and decodes its answer. body is sent as JSON, unless nil.
func call[T any](ctx context.Context, c *Client, method, path string, only serve.Condition, body any) (Reply[T], error) {
	var reply Reply[T]
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	req, err := c.request(ctx, method, path, only, body)
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

// readWarning is the sentence of the header Warning; "" if there is none.
func readWarning(h http.Header) string {
	_, said, _ := strings.Cut(h.Get(operator.WarningHeader), `"`)
	return strings.TrimSuffix(said, `"`)
}

func (c *Client) request(ctx context.Context, method, path string, only serve.Condition, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("adminclient: encode: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.options.URL+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("adminclient: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.options.Token)
	req.Header.Set("User-Agent", serve.CLIAgent)
	req.Header.Set("Accept", "application/json, "+refusal.ContentType)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{serve.ByHeader: c.options.Operator, "If-Match": only.IfMatch, "If-None-Match": only.IfNoneMatch} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// unreachable wraps what http.Client says, without the method and the URL that
// it repeats, and with words for a timeout that was ours.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return cause
	} else if cause != nil {
		err = fmt.Errorf("no answer within %v", c.options.Timeout)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return &unreachableError{c.options.URL, err}
}

// refusal returns the ProblemError of an answer, or ErrUnreachable if it is no waiting
// room's.
func (c *Client) refusal(res *http.Response, text []byte) error {
	p := &ProblemError{}
	if !isMedia(res.Header, refusal.ContentType) || json.Unmarshal(text, p) != nil || p.Code == "" {
		return &unreachableError{c.options.URL, fmt.Errorf("%w (it says %s)", errStranger, res.Status)}
	}
	p.Status = res.StatusCode
	if p.Status == http.StatusNotFound && p.Code != "zone_unknown" && p.Code != "policy_unknown" && p.Code != "token_unknown" {
		// There is no such path: the public listener, or a server that is older than this client.
		return &unreachableError{c.options.URL, fmt.Errorf("%w, or is older than this command (it has no %s)", errStranger, res.Request.URL.Path)}
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		p.RetryAfterSeconds = seconds
	}
	return p
}

func isMedia(h http.Header, want string) bool {
	got, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && got == want
}
