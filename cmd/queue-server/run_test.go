package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// patience is how long anything real may take that takes a moment, on a machine that is slow
// and does ten other things.
const patience = time.Minute

// environ is an environment of these variables only.
func environ(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// outcome is what a run of the program leaves.
type outcome struct {
	status      int
	out, errOut string
}

// runToEnd runs a command that ends by itself.
func runToEnd(t *testing.T, env map[string]string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	status := run(t.Context(), args, &cli.Terminal{Getenv: environ(env), Stdout: &out, Stderr: &errOut})
	return outcome{status, out.String(), errOut.String()}
}

func TestHelpAndVersion(t *testing.T) {
	broken := map[string]string{"QUEUE_CONFIG": "/there/is/no/such/file.yaml", "QUEUE_STORE": "mysql"}
	tests := []struct {
		name string
		args []string
		says []string
	}{
		{"help", []string{"--help"}, []string{"Usage:\n  queue-server", "serve", "healthcheck", "version"}},
		{"help of serve", []string{"serve", "--help"}, []string{"--addr string", `(default ":8080")`, "($QUEUE_ADDR)", "$QUEUE_DRAIN_DELAY"}},
		{"version", []string{"version"}, []string{"queue-server ", "revision", "go1."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runToEnd(t, broken, tt.args...) // neither looks at settings
			if tt.name != "version" {
				got = runToEnd(t, nil, tt.args...)
			}
			if got.status != cli.ExitOK || got.errOut != "" {
				t.Errorf("status %d, stderr %q", got.status, got.errOut)
			}
			for _, want := range tt.says {
				if !strings.Contains(got.out, want) {
					t.Errorf("stdout does not say %q:\n%s", want, got.out)
				}
			}
		})
	}
}

// server is a running queue-server, whose log the test can read.
type server struct {
	public, operators string // base URLs
	limits            string // "" without that listener
	site, sites       string // the same
	stop              context.CancelFunc
	status            chan int
	log               *logReader
}

// start runs queue-server serve on free ports, with a data folder of its own
// unless the environment names one. It is ended with the test, and must leave
// no goroutine behind.
func start(t *testing.T, env map[string]string) *server {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		t.Helper()
		err := goleak.Find(before)
		for late := time.Now().Add(patience); err != nil && time.Now().Before(late); {
			err = goleak.Find(before)
		}
		if err != nil {
			t.Error(err)
		}
	})
	all := map[string]string{
		"QUEUE_ADDR": "127.0.0.1:0", "QUEUE_ADMIN_ADDR": "127.0.0.1:0", "QUEUE_LOG_FORMAT": "json",
		"QUEUE_ADMIN_TOKEN": operatorToken, "QUEUE_DRAIN_DELAY": "1ms",
	}
	if env["QUEUE_DATA_DIR"] == "" {
		all["QUEUE_DATA_DIR"] = t.TempDir()
	}
	maps.Copy(all, env)
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{stop: cancel, status: make(chan int, 1), log: newLogReader()}
	go func() {
		status := run(ctx, []string{"serve"}, &cli.Terminal{Getenv: environ(all), Stdout: io.Discard, Stderr: s.log})
		s.log.end()
		s.status <- status
	}()
	t.Cleanup(func() { s.end(t) })
	listening := s.log.await(t, "listening")
	for name, as := range map[string]struct {
		url *string
		by  *openapitest.Document
	}{
		"public":    {&s.public, openapitest.Public},
		"operators": {&s.operators, openapitest.Operators},
		"limits":    {&s.limits, openapitest.Limits},
		"site":      {&s.site, openapitest.Site},
	} {
		if at := listening[name]; at != "none" {
			*as.url = fmt.Sprintf("http://%v", at)
			documents.Store(at, as.by)
			t.Cleanup(func() { documents.Delete(at) }) // the port may be another test's next
		}
	}
	if at := listening["sites"]; at != "none" {
		s.sites = fmt.Sprintf("http://%v", at)
	}
	return s
}

// end stops the server and wants it to have drained in good order. A second
// call does nothing.
func (s *server) end(t *testing.T) {
	t.Helper()
	s.stop()
	if status, ok := <-s.status; ok {
		close(s.status)
		if status != cli.ExitOK {
			t.Errorf("exit status %d; the log:\n%s", status, s.log.text())
		}
	}
}

// logReader takes in a log in JSON, and lets tests wait for its messages.
type logReader struct {
	mu    sync.Mutex
	more  *sync.Cond
	all   bytes.Buffer
	ended bool
}

func newLogReader() *logReader {
	l := &logReader{}
	l.more = sync.NewCond(&l.mu)
	return l
}

// Write implements io.Writer.
func (l *logReader) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.more.Broadcast()
	return l.all.Write(p)
}

func (l *logReader) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.more.Broadcast()
}

func (l *logReader) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// await returns the first record whose message begins so, once it is there.
func (l *logReader) await(t *testing.T, message string) map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for row := range strings.Lines(l.all.String()) {
			record := map[string]any{}
			if json.Unmarshal([]byte(row), &record) != nil {
				continue // what is meant for people
			}
			if msg, _ := record["msg"].(string); strings.HasPrefix(msg, message) {
				return record
			}
		}
		if l.ended {
			t.Fatalf("the server ended without logging %q:\n%s", message, l.all.String())
		}
		l.more.Wait()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
