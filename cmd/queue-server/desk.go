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

	"github.com/openqueue/waitingroom/internal/remote"
	"github.com/openqueue/waitingroom/internal/secret"
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
}

// desk is where an operator's command works: a server, and who asks.
type desk struct {
	*remote.Client
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
	client, err := remote.New(remote.Options{URL: address, Token: token, Operator: operator})
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
		token, err := secret.ReadTokenFile(path)
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

// checkedToken refuses what a server would never have taken for a token, since
// it could not even be sent.
func checkedToken(token, from string) (string, string, error) {
	if err := secret.CheckToken(token); err != nil {
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

// explain adds to an error of the client what an operator can do about it.
func (d *desk) explain(err error) error {
	if err == nil {
		return nil
	}
	problem, _ := errors.AsType[*remote.ProblemError](err)
	switch {
	case errors.Is(err, remote.ErrUnreachable):
		return fmt.Errorf("cannot ask the server at %w\n"+
			"Does it run, and is this its operators' listener? Name another with --admin-url or QUEUE_ADMIN_URL", err)
	case problem == nil:
		return err
	case errors.Is(err, remote.ErrUnauthorized):
		return fmt.Errorf("%s does not take the operators' token of %s: %w", d.URL(), d.tokenFrom, err)
	case errors.Is(err, remote.ErrUnavailable):
		return fmt.Errorf("%s answers, but not now: %w\nThe command can be repeated", d.URL(), err)
	}
	return err
}

// unknownZone says what other zone may be meant, if the error is that there is
// no such zone.
func (d *desk) unknownZone(ctx context.Context, zoneID string, err error) error {
	if !errors.Is(err, remote.ErrNotFound) {
		return err
	}
	reply, listErr := d.Zones(ctx)
	if listErr != nil {
		return fmt.Errorf("zone %s: %w", zoneID, err)
	}
	names := make([]string, len(reply.Value.Zones))
	for i, z := range reply.Value.Zones {
		names[i] = z.ZoneID
	}
	if len(names) == 0 {
		return fmt.Errorf("zone %s: %w; there are no zones yet", zoneID, err)
	}
	const shown = 10
	if len(names) > shown && !strings.HasPrefix(suggest(zoneID, names), "did") {
		return fmt.Errorf("zone %s: %w; all are listed by: queue-server zones list", zoneID, err)
	}
	return fmt.Errorf("zone %s: %w; %s", zoneID, err, suggest(zoneID, names))
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
