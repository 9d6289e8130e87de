package embedded

import (
	"maps"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, openHarness)
}

func TestModel(t *testing.T) {
	t.Parallel()
	conformance.Property(t, openHarness)
}

// TestOutside: the shop never sees more inside than the cap, whatever is lost.
func TestOutside(t *testing.T) {
	t.Parallel()
	conformance.Outside(t, openHarness)
}

// TestDocuments: a restart brings them back.
func TestDocuments(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), conformance.NewClock()
	s := reopen(t, dir, clock.Now)
	conformance.Documents(t, s, clock)
	kill(t, s)
	again := reopen(t, dir, clock.Now)
	for _, name := range []string{audit.Limits, audit.Operators, ":webhook:shop"} {
		if got, err := again.Document(t.Context(), name); got != (line.Document{Version: 2, Text: "second"}) || err != nil {
			t.Errorf("%s after a restart: %+v, %v", name, got, err)
		}
	}
}

func openHarness(t conformance.TB, now func() time.Time) conformance.Harness {
	t.Helper()
	var opened *Store
	open := func() store.Store {
		s, err := Open(Options{Now: now})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		opened = s
		return s
	}
	return conformance.Harness{
		Store: open(),
		Lose:  func(conformance.TB) store.Store { return open() },
		Footprint: func(_ conformance.TB, zoneID string) map[string]int {
			return opened.footprint(zoneID)
		},
	}
}

// footprint counts the parts of the zone's memory.
func (s *Store) footprint(zoneID string) map[string]int {
	q := s.queues[zoneID]
	q.mu.Lock()
	defer q.mu.Unlock()
	all := map[string]int{
		"line": q.line.len(), "blocks": cap(q.line.blocks), "sums": cap(q.line.sums),
		"live": q.live.len(), "live blocks": cap(q.live.blocks),
		"ids": len(q.byID), "due": q.due.len(), "due blocks": cap(q.due.blocks), "log": cap(q.log.entries), "admitted": len(q.log.byID),
		"gone": len(q.heal.gone), "aside": int(q.aside.count()),
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

func TestSpends(t *testing.T) {
	t.Parallel()
	conformance.Spends(t, openHarness)
	conformance.Visits(t, openHarness)
	conformance.SpendsOnce(t, openHarness(t, time.Now).Store)
}

// TestClockSetForward: the machine's clock is set, and its monotonic one is not.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	clock, total := conformance.NewClock(), time.Duration(0)
	s, err := Open(Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.clockSet = func(time.Time) int64 { return total.Microseconds() }
	conformance.Stepped(t, []store.Store{s}, func(by, set time.Duration) {
		total += set
		clock.Add(by + set)
	})
}
