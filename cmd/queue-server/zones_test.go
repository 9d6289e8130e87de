package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// twoZones are what most of these tests begin with.
const twoZones = `zones:
  - zoneId: TICKETS
    perMinute: 600
    burst: 5
  - zoneId: TEST_ZONE
    perMinute: 10
    mode: closed
    maxWaiting: 200000
    onStoreFailure: admit
`

// clerk is an operator who types commands.
type clerk struct {
	*server
	env map[string]string
}

// newClerk starts a server with twoZones and seats an operator before it.
func newClerk(t *testing.T) clerk {
	t.Helper()
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, twoZones)})
	return clerk{s, map[string]string{
		"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken, "USER": "anna",
	}}
}

// types runs a command where nobody can be asked.
func (c clerk) types(t *testing.T, args ...string) outcome {
	t.Helper()
	return runToEnd(t, c.env, args...)
}

// says wants a status, and that stdout and stderr together hold each text.
func says(t *testing.T, name string, got outcome, status int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got.out+got.errOut, text) {
			t.Errorf("%s: does not say %q", name, text)
			status = -1
		}
	}
	if got.status != status {
		t.Errorf("%s: status %d, want %d\n--- stdout\n%s--- stderr\n%s", name, got.status, status, got.out, got.errOut)
	}
}

// TestQuestionEndsWithTheCommand: a signal ends a question.
func TestQuestionEndsWithTheCommand(t *testing.T) {
	c := newClerk(t)
	ctx, cancel := context.WithCancel(t.Context())
	typed, keyboard := io.Pipe()
	defer func() { _ = keyboard.Close() }()
	asked := &asking{then: cancel}
	status := run(ctx, []string{"zones", "delete", "TICKETS"}, &cli.Terminal{
		Getenv: environ(c.env), Stdin: typed, Stdout: io.Discard, Stderr: asked, Interactive: true,
	})
	if status != cli.ExitFailed || c.admin(t, "GET", "/admin/zones/TICKETS", "").status != http.StatusOK {
		t.Errorf("status %d; %s", status, asked.text.String())
	}
}

// asking does something when it is asked a question.
type asking struct {
	text bytes.Buffer
	then func()
}

func (a *asking) Write(p []byte) (int, error) {
	a.text.Write(p)
	if strings.HasSuffix(a.text.String(), ": ") {
		a.then()
	}
	return len(p), nil
}

// TestOperatorsTokenIsFound: in the environment, in the file that it names, in
// the data folder of this machine's server; but the last is sent nowhere else.
func TestOperatorsTokenIsFound(t *testing.T) {
	data := t.TempDir()
	s := start(t, map[string]string{"QUEUE_DATA_DIR": data, "QUEUE_ADMIN_TOKEN": ""})
	file := filepath.Join(data, "admin-token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "mounted") // as container engines do
	if err := os.WriteFile(open, token, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		env    map[string]string
		status int
		says   string
	}{
		{"environment", map[string]string{"QUEUE_ADMIN_TOKEN": strings.TrimSpace(string(token))}, cli.ExitOK, ""},
		{"file", map[string]string{"QUEUE_ADMIN_TOKEN_FILE": open}, cli.ExitOK, ""},
		{"data folder", map[string]string{"QUEUE_DATA_DIR": data}, cli.ExitOK, ""},
		{"no file", map[string]string{"QUEUE_ADMIN_TOKEN_FILE": "/none"}, cli.ExitUsage, "QUEUE_ADMIN_TOKEN_FILE: secret: open /none"},
		{"no data folder", map[string]string{"QUEUE_DATA_DIR": "/none"}, cli.ExitUsage, "no operators' token: put it into the variable QUEUE_ADMIN_TOKEN"},
		{"elsewhere", map[string]string{"QUEUE_DATA_DIR": data, "QUEUE_ADMIN_URL": "https://queue.example"}, cli.ExitUsage,
			"no operators' token for https://queue.example"},
	}
	for _, tt := range tests {
		env := map[string]string{"QUEUE_ADMIN_ADDR": strings.TrimPrefix(s.operators, "http://")}
		maps.Copy(env, tt.env)
		says(t, tt.name, runToEnd(t, env, "zones", "list"), tt.status, tt.says)
	}
	if !strings.Contains(printed(t, "serve", "--help"), `(default "`+cli.DefaultDataDir+`")`) {
		t.Errorf("the commands look for the token in %s, and servers keep it elsewhere", cli.DefaultDataDir)
	}
	for _, args := range [][]string{{"zones", "list", "--help"}, {"zones", "apply", "--help"}, {"stats", "--help"}} {
		if text := printed(t, args...); strings.Contains(text, "--admin-token") {
			t.Errorf("a flag for the token, which ps shows:\n%s", text)
		}
	}
}

// printed returns what a command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	return runToEnd(t, nil, args...).out
}
