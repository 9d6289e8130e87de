package process_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

func TestRedisComesAndGoes(t *testing.T) {
	t.Parallel()
	r, err := process.NewRedis(t.Context(), "redis-server", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	for range 2 {
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// It says so a moment after it answers.
		says := func() bool { return strings.Contains(r.Output(), "Ready to accept connections") }
		if !process.Soon(t.Context(), process.StartTimeout, process.LookEvery, says) || !r.Answers(t.Context()) {
			t.Errorf("it said %q", r.Output())
		}
		r.Signal(syscall.SIGTERM)
		if status, ended := r.Wait(process.StartTimeout); !ended || status != 0 || r.Answers(t.Context()) {
			t.Errorf("status %d, ended %t", status, ended)
		}
	}
}

func TestWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"/nowhere/redis-server", "false"} {
		r, err := process.NewRedis(t.Context(), program, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context()); err == nil {
			t.Errorf("%s was started", program)
		}
	}
}

func TestWaitAndSoon(t *testing.T) {
	t.Parallel()
	p := &process.Process{Name: "sleep", Args: []string{"60"}}
	if _, ended := p.Wait(0); !ended {
		t.Error("it goes on before it was started")
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ended := p.Wait(time.Millisecond); ended {
		t.Error("it has ended by itself")
	}
	p.Kill()
	if status, ended := p.Wait(0); !ended || status != -1 {
		t.Errorf("killed: status %d, ended %t", status, ended)
	}
	if process.Soon(t.Context(), time.Millisecond, process.LookEvery, func() bool { return false }) {
		t.Error("what never holds did")
	}
}
