package baseline_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/line"
)

func start(t *testing.T) *baseline.Server {
	t.Helper()
	s, err := baseline.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// visitors returns places in order of arrival, with ids that are not.
func visitors(n int) []line.Place {
	places := make([]line.Place, n)
	for i := range places {
		places[i].ArrivedAtMicros = int64(1_800_000_000_000_000 + i)
		binary.BigEndian.PutUint64(places[i].ID[:], uint64(i)*0x9E3779B97F4A7C15)
	}
	return places
}

func TestLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	places := visitors(2500) // two full batches of Fill and a part of one
	l := s.Line("yard")
	if err := l.Fill(t.Context(), places, 1); err != nil {
		t.Fatal(err)
	}
	got, err := l.Poll(t.Context(), []line.Place{places[2499], places[0], places[1234]}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{2499, 0, 1234}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx := t.Context()
	if version, err := s.Version(ctx); err != nil || !strings.Contains(version, ".") {
		t.Errorf("version %q, %v", version, err)
	}
	memory, err := s.UsedMemory(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := s.CPU(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WatchCalls(ctx, 0); err != nil {
		t.Fatal(err)
	}
	places := visitors(20_000)
	l := s.Line("yard")
	if err := l.Fill(ctx, places, 1); err != nil {
		t.Fatal(err)
	}
	const calls = 40
	for range calls {
		if _, err := l.Poll(ctx, places[:256], 2); err != nil {
			t.Fatal(err)
		}
	}
	took, err := s.ScriptCalls(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// One more: the first finds no script, and sends it.
	if len(took) < calls || len(took) > calls+1 {
		t.Errorf("%d script calls were noted, want %d", len(took), calls)
	}
	if sum := sumOf(took); sum <= 0 || sum > time.Minute {
		t.Errorf("they took %v", sum)
	}
	if after, err := s.UsedMemory(ctx); err != nil || after-memory < 20_000*16 {
		t.Errorf("memory rose by %d bytes, %v", after-memory, err)
	}
	if after, err := s.CPU(ctx); err != nil || after <= cpu {
		t.Errorf("processor time went from %v to %v, %v", cpu, after, err)
	}
}

func sumOf(calls []baseline.ScriptCall) (sum time.Duration) {
	for _, c := range calls {
		sum += c.Took
	}
	return sum
}

func TestAppendOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, on := range []bool{true, false, true} {
		if err := s.SetAppendOnly(t.Context(), on); err != nil {
			t.Fatalf("append only %t: %v", on, err)
		}
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"/nowhere/redis-server", "false"} {
		if s, err := baseline.Start(t.Context(), program); err == nil {
			_ = s.Stop()
			t.Errorf("%s was started", program)
		}
	}
}
