package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/serve/secret"
)

// Variables of commands that ask a running server. The token has no flag: what
// is on a command line, everybody on the machine can read.
const (
	adminVariable     = "QUEUE_ADMIN_TOKEN"
	adminFileVariable = "QUEUE_ADMIN_TOKEN_FILE"
	dataDirVariable   = "QUEUE_DATA_DIR"
	adminAddrVariable = "QUEUE_ADMIN_ADDR"
	userVariable      = "USER"
)

// defaultAdminURL is where the operators' listener is by default.
const defaultAdminURL = "http://127.0.0.1:8081"

// deskFlags are those of every command that asks a running server.
type deskFlags struct {
	AdminURL string `name:"admin-url" variable:"QUEUE_ADMIN_URL" placeholder:"URL" help:"The server's operators' listener; http://127.0.0.1:8081 when absent."`
	As       string `variable:"QUEUE_OPERATOR" placeholder:"NAME" help:"Who you are, for the record of changes; $$USER when absent."`
	JSON     bool   `name:"json" help:"Print what the server answers, as JSON, for scripts."`

	// timeout bounds a call; 0 is remote's default.
	timeout time.Duration
}

// desk is where an operator's command works: a server, and who asks.
type desk struct {
	*adminclient.Client
	*surroundings
	json bool
	// operator is the name for the record.
	operator string
	// tokenFrom says where the operators' token was found.
	tokenFrom string
}

// at runs work at the desk, and explains the error that it returns.
func (f deskFlags) at(at *surroundings, work func(d *desk) error) error {
	d, err := f.open(at)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.explain(work(d))
}

// open returns the desk. Nothing is asked yet.
func (f deskFlags) open(at *surroundings) (*desk, error) {
	address := f.AdminURL
	if address == "" {
		address = defaultAdminURL
		if addr := at.getenv(adminAddrVariable); checkAddr(addr) == nil {
			address = "http://" + reachable(addr)
		}
	}
	operator := f.As
	if operator == "" {
		operator = at.getenv(userVariable)
	}
	token, from, err := operatorsToken(at.getenv, address)
	if err != nil {
		return nil, usageError{err}
	}
	client, err := adminclient.New(adminclient.Options{
		URL: address, Token: token, Operator: operator, Timeout: f.timeout,
		Warned: func(said string) { _, _ = fmt.Fprintf(at.stderr, "Mind: it is %s\n", harmless(said, "")) },
	})
	if err != nil {
		return nil, usageError{err}
	}
	return &desk{Client: client, surroundings: at, json: f.JSON, operator: operator, tokenFrom: from}, nil
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
	dir := getenv(dataDirVariable)
	if dir == "" {
		dir = defaultDataDir
	}
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

// explain says what an operator can do about an error of the client.
func (d *desk) explain(err error) error {
	if _, said := errors.AsType[*sentenceError](err); said {
		return err
	}
	switch {
	case errors.Is(err, adminclient.ErrUnreachable):
		return sentence(err, "cannot ask the server at %v\n"+
			"Does it run, and is this its operators' listener? Name another with --admin-url or QUEUE_ADMIN_URL", err)
	case errors.Is(err, adminclient.ErrUnauthorized):
		return sentence(err, "%s refuses the operators' token of %s\n"+
			"The server's own is the one that it was started with, or in the file admin-token of its data folder", d.URL(), d.tokenFrom)
	case errors.Is(err, adminclient.ErrUnavailable):
		return sentence(err, "%s answers, but not now: %v\nThe command can be repeated", d.URL(), err)
	}
	return err
}

// about says an error about a zone; if there is no such zone, which other may be
// meant.
func (d *desk) about(ctx context.Context, zoneID string, err error) error {
	if errors.Is(err, adminclient.ErrConflict) {
		return sentence(err, "zone %s: others have changed it meanwhile; nothing was changed. Look at it with: queue-server zones get %s", zoneID, zoneID)
	}
	if !errors.Is(err, adminclient.ErrNotFound) {
		return err
	}
	reply, listErr := d.Zones(ctx)
	if listErr != nil {
		return sentence(err, "there is no zone %s", zoneID)
	}
	names := make([]string, len(reply.Value.Zones))
	for i, z := range reply.Value.Zones {
		names[i] = z.ZoneID
	}
	const shown = 10
	switch near := suggest(zoneID, names); {
	case len(names) == 0:
		return sentence(err, "there is no zone %s; there are none yet", zoneID)
	case len(names) > shown && !strings.HasPrefix(near, "did"):
		return sentence(err, "there is no zone %s; all are listed by: queue-server zones list", zoneID)
	default:
		return sentence(err, "there is no zone %s; %s", zoneID, near)
	}
}

// printJSON prints what the server answered, on one line.
func (d *desk) printJSON(text []byte) error {
	var line bytes.Buffer
	line.Write(text)
	line.WriteByte('\n')
	_, err := line.WriteTo(d.stdout)
	return err
}

// say prints a sentence for people.
func (d *desk) say(format string, a ...any) {
	_, _ = fmt.Fprintf(d.stdout, format+"\n", a...)
}

// readInput reads a file, or stdin where it is named "-".
func (at *surroundings) readInput(path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	if at.stdin == nil {
		return nil, nil
	}
	return io.ReadAll(at.stdin)
}
