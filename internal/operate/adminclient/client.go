package adminclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/refusal"
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

// readWarning is the sentence of the header Warning; "" if there is none.
func readWarning(h http.Header) string {
	_, said, _ := strings.Cut(h.Get(operator.WarningHeader), `"`)
	return strings.TrimSuffix(said, `"`)
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
