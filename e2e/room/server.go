package room

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// OperatorToken is what the tests' operators show.
	OperatorToken = "zq8vKf2mWc5tLx9RbN4sQe7H"
	// Secret signs the tokens of all servers, unless a test says otherwise.
	Secret = "bW9zdC1zZWNyZXQtb2YtYWxsLXRoZS1zZWNyZXRzLTAwNDI="
	// Patience bounds a wait for anything that takes a moment, on a machine that is slow and
	// does ten other things.
	Patience = 2 * time.Minute
	// root is the folder of the repository, seen from the folder of a package of tests.
	root = "../.."
)

// programs builds queue-server at most once a test run: by the further flags of the build, or the version. A
// build that finds it up to date does nothing.
var programs = map[string]func() (string, error){
	"":      sync.OnceValues(func() (string, error) { return build("queue-server") }),
	"-race": sync.OnceValues(func() (string, error) { return build("queue-server-raced", "-race") }),
	"0.1.0": sync.OnceValues(build010),
}

// release010 has what queue-server 0.1.0 is built of: the files of its packages at commit c89ade6e171f, without tests. A checkout
// need not have the history.
const release010 = "../room/testdata/queue-server-0.1.0.tar.gz"

func build(name string, flags ...string) (string, error) { return buildIn(root, name, flags...) }

// buildIn builds queue-server of the sources in a folder.
func buildIn(sources, name string, flags ...string) (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "e2e", name))
	if err != nil {
		return "", err
	}
	// As the tests are compiled, so that no package is compiled twice: without the profile.
	args := append([]string{"build", "-C", sources, "-pgo=off", "-buildvcs=false", "-o", path}, flags...)
	if said, err := exec.CommandContext(context.Background(), "go", append(args, "./cmd/queue-server")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build queue-server: %w: %s", err, said)
	}
	return path, nil
}

// Program is the path of queue-server, built of the sources as they are.
func Program(t testing.TB) string {
	t.Helper()
	return programOf(t, "")
}

// RacedProgram is one with the race detector, which ends with another status than 0 if it has
// found anything.
func RacedProgram(t testing.TB) string {
	t.Helper()
	return programOf(t, "-race")
}

// Program010 is queue-server 0.1.0.
func Program010(t testing.TB) string {
	t.Helper()
	return programOf(t, "0.1.0")
}

func build010() (string, error) {
	dir, err := os.MkdirTemp("", "queue-server-0.1.0-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // of the machine's temporary files
	if said, err := exec.CommandContext(context.Background(), "tar", "-xzf", release010, "-C", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack the sources of 0.1.0: %w: %s", err, said)
	}
	return buildIn(dir, "queue-server-0.1.0")
}

func programOf(t testing.TB, flags string) string {
	t.Helper()
	path, err := programs[flags]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Server is a queue-server, which may end and start again.
type Server struct {
	*process.Process
	// Public, Operators, Limits and Site are the URLs of its listeners.
	Public, Operators, Limits, Site string
	// described has, by address, what its listeners must answer.
	described map[string]*openapitest.Document
}

// New prepares a server with all four listeners and a data folder of its own. env are its settings,
// by their variables. Launch starts it, and the test ends it.
func New(t testing.TB, env map[string]string) *Server {
	t.Helper()
	s := &Server{described: map[string]*openapitest.Document{}, Process: Adopt(t, &process.Process{Name: Program(t), Args: []string{"serve"}, Dir: t.TempDir()})}
	all := map[string]string{
		"QUEUE_DATA_DIR": "data", "QUEUE_LOG_FORMAT": "json", "QUEUE_ADMIN_TOKEN": OperatorToken, "QUEUE_SECRET": Secret,
		"QUEUE_DRAIN_DELAY": "1ms",
	}
	for variable, of := range map[string]struct {
		url *string
		by  *openapitest.Document
	}{
		"QUEUE_ADDR": {&s.Public, openapitest.Public}, "QUEUE_ADMIN_ADDR": {&s.Operators, openapitest.Operators},
		"QUEUE_LIMITS_ADDR": {&s.Limits, openapitest.Limits}, "QUEUE_SITE_ADDR": {&s.Site, openapitest.Site},
	} {
		at := FreeAddr(t)
		all[variable], *of.url = at, "http://"+at
		s.described[at] = of.by
		documents.Store(at, of.by)
		t.Cleanup(func() { documents.Delete(at) })
	}
	s.Env = os.Environ()
	s.Set(all)
	s.Set(env)
	return s
}

// Set changes settings, by their variables, from the next start on.
func (s *Server) Set(env map[string]string) {
	for name, value := range env {
		s.Env = append(s.Env, name+"="+value)
	}
}

// Launch starts the server, and waits until it answers, be it that it is not ready.
func (s *Server) Launch(t testing.TB) {
	t.Helper()
	// Not the test's context: a server outlives it until it is killed.
	if err := s.StartUntil(context.Background(), func() bool {
		r, err := Ask(context.Background(), nil, http.MethodGet, s.Public+"/healthz", "")
		return err == nil && r.Status == http.StatusOK
	}); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server, and waits until it is ready. It drains with the test, in good order.
func Start(t testing.TB, env map[string]string) *Server {
	t.Helper()
	s := New(t, env)
	s.Start(t)
	return s
}

// Start starts a server that is prepared, as the function does.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.Launch(t)
	t.Cleanup(func() { s.Stop(t) })
	s.AwaitReady(t)
}

// Be010 has a server that is prepared be of version 0.1.0, whose answers the description of this version does not describe.
func (s *Server) Be010(t testing.TB) {
	t.Helper()
	s.Name = Program010(t)
	for at := range s.described {
		documents.Delete(at)
	}
}

// Upgrade stops a server of another version in good order, and starts one of this version in its place.
func (s *Server) Upgrade(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.Name = Program(t)
	for at, by := range s.described {
		documents.Store(at, by)
	}
	s.Launch(t)
	s.AwaitReady(t)
}

// Stop tells the server to drain, and wants it to end in good order. Where it has ended, nothing is done.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.Signal(syscall.SIGTERM)
	if status, ended := s.Wait(Patience); !ended || status > 0 {
		s.Kill()
		t.Errorf("a server that was told to end: ended %t, status %d", ended, status)
	}
}

// Ready reports whether the server asks for traffic.
func (s *Server) Ready() bool {
	r, err := Ask(context.Background(), nil, http.MethodGet, s.Public+"/readyz", "")
	return err == nil && r.Status == http.StatusOK
}

// HasStore reports whether the server asks for traffic, and its store answers.
func (s *Server) HasStore() bool {
	r, err := Ask(context.Background(), nil, http.MethodGet, s.Public+"/readyz", "")
	return err == nil && r.Status == http.StatusOK && r.Body == "ready\n"
}

// AwaitReady waits until the server asks for traffic.
func (s *Server) AwaitReady(t testing.TB) {
	t.Helper()
	Await(t, "the server is ready", s.Ready)
}

// Put makes a zone, and waits until the others of the store know it. What has its default is left out: an older server knows fewer settings.
func (s *Server) Put(t testing.TB, z zone.Settings, others ...*Server) {
	t.Helper()
	fields := func(z zone.Settings) (all map[string]json.RawMessage) {
		body, err := z.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(body, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all, defaults := fields(z), fields(zone.Defaults(z.ZoneID))
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool { return bytes.Equal(value, defaults[name]) })
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	s.Operate(t, http.MethodPut, "/admin/zones/"+z.ZoneID, string(body))
	for _, other := range others {
		Await(t, "every server knows the zone", func() bool { return other.knows(t.Context(), z.ZoneID) })
	}
}

func (s *Server) knows(ctx context.Context, zoneID string) bool {
	r, err := Ask(ctx, nil, http.MethodGet, s.Operators+"/admin/zones/"+zoneID, "", "Authorization", "Bearer "+OperatorToken)
	return err == nil && r.Status == http.StatusOK
}

// Operate asks the operators' listener, again while the store is slow, and wants a status below 300.
func (s *Server) Operate(t testing.TB, method, path, body string) (r Reply) {
	t.Helper()
	Await(t, method+" "+path, func() bool {
		r = s.Admin(t, method, path, body)
		return r.Status != http.StatusServiceUnavailable
	})
	if r.Status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	return r
}

// Goroutines counts the server's goroutines.
func (s *Server) Goroutines(t testing.TB) int {
	t.Helper()
	first, _, _ := strings.Cut(s.Admin(t, http.MethodGet, "/debug/pprof/goroutine?debug=1", "").Body, "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "goroutine profile: total "))
	if err != nil {
		t.Fatalf("goroutines: %q", first)
	}
	return n
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
