package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Variables of commands that ask a running server. The token has no flag: what
// is on a command line, everybody on the machine can read.
const (
	urlVariable       = "QUEUE_ADMIN_URL"
	operatorVariable  = "QUEUE_OPERATOR"
	adminVariable     = "QUEUE_ADMIN_TOKEN"
	adminFileVariable = "QUEUE_ADMIN_TOKEN_FILE"
	dataDirVariable   = "QUEUE_DATA_DIR"
	adminAddrVariable = "QUEUE_ADMIN_ADDR"
	userVariable      = "USER"
)

// Variables are those that no server has as a setting.
var Variables = []string{operatorVariable}

// defaultAdminURL is where the operators' listener is by default.
const defaultAdminURL = "http://127.0.0.1:8081"

// DefaultDataDir is the data folder of a server that is told no other.
const DefaultDataDir = "./data"

// connection is how commands reach a running server: what their flags say.
type connection struct {
	*Terminal
	adminURL, as string
	json         bool
}

// session is a server, and the operator who asks it.
type session struct {
	*adminclient.Client
	*connection
	// tokenFrom says where the operators' token was found.
	tokenFrom string
}

// open returns the session. Nothing is asked yet.
func (c *connection) open() (*session, error) {
	address := cmp.Or(c.adminURL, c.Getenv(urlVariable))
	if address == "" {
		address = defaultAdminURL
		if addr := c.Getenv(adminAddrVariable); serve.CheckAddr(addr) == nil {
			address = "http://" + serve.LocalAddr(addr)
		}
	}
	token, from, err := operatorsToken(c.Getenv, address)
	if err != nil {
		return nil, UsageError{err}
	}
	client, err := adminclient.New(adminclient.Options{
		URL: address, Token: token, Operator: c.by(),
		Warned: func(said string) { _, _ = fmt.Fprintf(c.Stderr, "Warning: the change is %s\n", harmless(said, "")) },
	})
	if err != nil {
		return nil, UsageError{err}
	}
	return &session{client, c, from}, nil
}

// by is the name that changes are recorded under; "" for none.
func (c *connection) by() string {
	return cmp.Or(c.as, c.Getenv(operatorVariable), c.Getenv(userVariable))
}

// operatorsToken finds the token for the server at address, and says where it was.
func operatorsToken(getenv func(string) string, address string) (token, from string, err error) {
	if token := getenv(adminVariable); token != "" {
		return checkedToken(token, adminVariable)
	}
	if path := getenv(adminFileVariable); path != "" {
		token, _, err := secret.ReadFile(path)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", adminFileVariable, err)
		}
		return checkedToken(token, adminFileVariable+", "+path)
	}
	if !isThisMachine(address) {
		return "", "", fmt.Errorf("no operators' token for %s: put it into the variable %s, or into a file that %s names",
			address, adminVariable, adminFileVariable)
	}
	dir := cmp.Or(getenv(dataDirVariable), DefaultDataDir)
	token, err = secret.ReadToken(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", "", fmt.Errorf("no operators' token: put it into the variable %s, or into a file that %s names; "+
			"or name with %s the data folder of the server on this machine, if you may read it (tried: %s)",
			adminVariable, adminFileVariable, dataDirVariable, dir)
	case err != nil:
		return "", "", err
	}
	return checkedToken(token, "the data folder "+dir)
}

// checkedToken refuses what no server has ever taken for a token. One that is easy
// to guess is the business of the server, which may be older than this rule.
func checkedToken(token, from string) (string, string, error) {
	if err := secret.CheckTokenForm(token); err != nil {
		return "", "", fmt.Errorf("%s: %w", from, err)
	}
	return token, from, nil
}

// isThisMachine reports whether the token that this machine's server keeps in
// its data folder may be sent there.
func isThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// sentenceError is an error in words for the operator, of the kind of another.
type sentenceError struct {
	text string
	of   error
}

// sentence says err in other words.
func sentence(err error, format string, a ...any) error {
	return &sentenceError{fmt.Sprintf(format, a...), err}
}

func (e *sentenceError) Error() string { return e.text }
func (e *sentenceError) Unwrap() error { return e.of }

// explain says what an operator can do about an error of the client. name is the zone or, of a command of the group
// limits, the policy that the command is about; "" where it is about none.
func (s *session) explain(group, name string, err error) error {
	if _, said := errors.AsType[*sentenceError](err); said {
		return err
	}
	thing, list, get := "zone "+name, "zones list", "zones get "+name
	switch group {
	case "tokens":
		thing, list, get = "token "+name, "tokens list", "tokens list"
	case "limits":
		thing, list, get = "policy "+name, "limits list", "limits show "+name
	}
	switch {
	case errors.Is(err, adminclient.ErrUnreachable):
		return sentence(err, "cannot ask the server at %v\n"+
			"Does it run, and is this its operators' listener? Name another with --admin-url or QUEUE_ADMIN_URL", err)
	case errors.Is(err, adminclient.ErrUnauthorized):
		return sentence(err, "%s refuses the operators' token of %s\n"+
			"A token of your own may have expired or been revoked. The root token is the one that the server was started with, or in the file admin-token of its data folder", s.URL(), s.tokenFrom)
	case errors.Is(err, adminclient.ErrForbidden):
		return sentence(err, "the token of %s may not do this: it has another role or other zones\n"+
			"queue-server help COMMAND says which role a command needs; an admin makes tokens with: queue-server tokens create", s.tokenFrom)
	case errors.Is(err, adminclient.ErrUnavailable):
		return sentence(err, "%s answers, but not now: %v\nThe command can be repeated", s.URL(), err)
	case name == "":
	case errors.Is(err, adminclient.ErrConflict):
		return sentence(err, "%s: others have changed it meanwhile; nothing was changed. Look at it with: queue-server %s", thing, get)
	case errors.Is(err, adminclient.ErrNotFound):
		return sentence(err, "there is no %s; all are listed by: queue-server %s", thing, list)
	}
	return err
}

// get makes the call of that ID, which has no more than parts of a path.
func get[T any](ctx context.Context, s *session, id string, parts ...string) (adminclient.Reply[T], error) {
	return adminclient.Call[T](ctx, s.Client, adminclient.Request{ID: id, Parts: parts})
}

// put makes a zone, or sets all of a policy, of that name; with a version, only if it is still the one that had it, without, only if there is none.
func put[T any](ctx context.Context, s *session, id, name string, body any, version string) (adminclient.Reply[T], error) {
	only := serve.Condition{IfMatch: version}
	if version == "" {
		only.IfNoneMatch = "*"
	}
	return adminclient.Call[T](ctx, s.Client, adminclient.Request{ID: id, Parts: []string{name}, Only: only, Body: body})
}

// patch sets those settings of a zone that are named, if the zone still has the version.
func (s *session) patch(ctx context.Context, zoneID string, settings map[string]any, version string) (adminclient.Reply[zone.Settings], error) {
	return adminclient.Call[zone.Settings](ctx, s.Client, adminclient.Request{
		ID: "patchZone", Parts: []string{zoneID}, Only: serve.Condition{IfMatch: version}, Body: settings,
	})
}

// remove deletes what the call of that ID deletes, if it still has the version.
func (s *session) remove(ctx context.Context, id, name, version string) error {
	_, err := adminclient.Call[struct{}](ctx, s.Client, adminclient.Request{ID: id, Parts: []string{name}, Only: serve.Condition{IfMatch: version}})
	return err
}

// changes returns the newest changes of one zone, of one policy, or of all when both are "": at most so many of zones, and as many of policies.
func (s *session) changes(ctx context.Context, zoneID, policy string, most int) (adminclient.Reply[operator.Changes], error) {
	return adminclient.Call[operator.Changes](ctx, s.Client, adminclient.Request{
		ID: "listChanges", Query: map[string]string{"zoneId": zoneID, "policy": policy, "limit": strconv.Itoa(most)},
	})
}

// printReply prints what the server answered, on one line, unless there is an error.
func (s *session) printReply(text []byte, err error) error {
	if err == nil {
		_, err = s.Stdout.Write(append(bytes.Clone(text), '\n'))
	}
	return err
}
