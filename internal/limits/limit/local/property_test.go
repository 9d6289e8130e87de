package local

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/check/conformance/limits"
)

// openFor opens a store that forgets only by the clock that it is given.
func openFor(t conformance.TB, now func() time.Time) limits.Store {
	s := New(CountersOptions{Now: now})
	for i := range s.shards {
		s.shards[i].linger = 1 << 40
	}
	t.Cleanup(s.Close)
	return s
}

func TestModel(t *testing.T) {
	t.Parallel()
	limits.Property(t, openFor)
}

// write says that the test writes the table of docs/limits.md.
var write = flag.Bool("write", false, "write the table of attacks into docs/limits.md")

func TestAttacks(t *testing.T) {
	t.Parallel()
	const file = "../../../../docs/limits.md"
	table := limits.Attacks(t, openFor)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, was, tail := limits.Cut(t, string(text))
	switch {
	case was == table:
	case *write:
		if err := os.WriteFile(file, []byte(head+table+tail), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has another table; run this test with -write:\n%s", file, was)
	}
}
