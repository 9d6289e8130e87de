package room

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	// OperatorToken is what the tests' operators show.
	OperatorToken = "zq8vKf2mWc5tLx9RbN4sQe7H"
	// Patience is how long anything real may take that takes a moment, on a machine that
	// is slow and does ten other things.
	Patience = 2 * time.Minute
	// root is the folder of the repository, seen from the folder of a package of tests.
	root = "../.."
)

// program builds queue-server once a test run. A build that finds it up to date does nothing.
var program = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "e2e", "queue-server"))
	if err != nil {
		return "", err
	}
	// As the tests are compiled, so that no package is compiled twice: without the profile.
	build := exec.CommandContext(context.Background(), "go", "build", "-C", root, "-pgo=off", "-buildvcs=false", "-o", path, "./cmd/queue-server")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build queue-server: %w: %s", err, said)
	}
	return path, nil
})

// Program is the path of queue-server, built of the sources as they are.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Server is a running queue-server.
type Server struct {
	// Public, Operators, Limits and Site are the URLs of its listeners, "" for one that
	// it does not have.
	Public, Operators, Limits, Site string
	*process.Process
}

// Start starts a server on free ports, with a data folder of its own unless the environment
// names one. It ends with the test, and must do so in good order.
func Start(t testing.TB, env map[string]string) *Server {
	t.Helper()
	p := &process.Process{Name: Program(t), Args: []string{"serve"}, Dir: t.TempDir(), Env: append(os.Environ(),
		"QUEUE_ADDR=127.0.0.1:0", "QUEUE_ADMIN_ADDR=127.0.0.1:0", "QUEUE_LOG_FORMAT=json", "QUEUE_DATA_DIR=data",
		"QUEUE_ADMIN_TOKEN="+OperatorToken, "QUEUE_DRAIN_DELAY=1ms")}
	for name, value := range env {
		p.Env = append(p.Env, name+"="+value)
	}
	s := &Server{Process: p}
	var listening map[string]any
	if err := p.StartUntil(context.Background(), func() bool {
		listening = s.logged("listening")
		return listening != nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t) })
	for name, of := range map[string]struct {
		url *string
		by  *openapitest.Document
	}{
		"public": {&s.Public, openapitest.Public}, "operators": {&s.Operators, openapitest.Operators},
		"limits": {&s.Limits, openapitest.Limits}, "site": {&s.Site, openapitest.Site},
	} {
		if at, _ := listening[name].(string); at != "none" {
			*of.url = "http://" + at
			documents.Store(at, of.by)
			t.Cleanup(func() { documents.Delete(at) }) // the port may be another test's next
		}
	}
	return s
}

// Stop tells the server to drain, and wants it to end in good order. A second call does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.Signal(syscall.SIGTERM)
	if status, ended := s.Wait(Patience); !ended || status != 0 {
		s.Kill()
		t.Errorf("told to end: ended %t, status %d; the log:\n%s", ended, status, s.Output())
	}
}

// logged is the first record of the log whose message this is, nil before it is there.
func (s *Server) logged(message string) map[string]any {
	for row := range bytes.Lines([]byte(s.Output())) {
		record := map[string]any{}
		if json.Unmarshal(row, &record) == nil && record["msg"] == message {
			return record
		}
	}
	return nil // what is no record is meant for people
}

// Run runs a command of queue-server that ends by itself, and returns its exit status and what
// it printed, both outputs together.
func Run(t testing.TB, env map[string]string, args ...string) (status int, said string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Program(t), args...)
	command.Env = os.Environ()
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

// Config writes a file with this text, such as zones, and returns its name.
func Config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queue.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
