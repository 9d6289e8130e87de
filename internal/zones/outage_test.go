package zones

import (
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestDeparturesOutliveAnOutage: a store that is away for longer than a departure
// matters, and comes back empty, is told who departed just before: their tokens are as
// fresh as those of the ones who waited, for nothing was heard of the line since.
func TestDeparturesOutliveAnOutage(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, clock := newTest(t, f, Options{})
	in := line.Answer{Status: line.Admitted, Place: line.Place{ID: idOf('i'), ArrivedAtMicros: 5}, AdmittedAtMillis: 1_000}
	f.answers(in, 1_000, 0)
	polls(t, r, in.Place)
	f.do(func() { f.away = true })
	clock.Forward(time.Hour)
	r.tellOnce(t.Context())
	f.do(func() { f.away = false })
	f.lose()
	f.answers(line.Answer{Status: line.Waiting, Place: line.Place{ID: idOf('w'), ArrivedAtMicros: 9}}, 3_601_000, 3_601_000)
	polls(t, r, line.Place{ID: idOf('w'), ArrivedAtMicros: 9})
	if got := f.told(); len(got) != 1 {
		t.Errorf("told %+v, want the one who was admitted just before the outage", got)
	}
	// The line is heard of again, so it is forgotten in time.
	for _, now := range []int64{3_602_000, 3_670_000, 3_671_000} {
		f.hears(t, r, now, 3_601_000)
		r.tellOnce(t.Context())
		clock.Forward(window.DepartureMatters(settings("a", 60), seenWithin))
	}
	if _, known := r.departedBefore("a", in.Place); known {
		t.Error("a departure of an hour ago is remembered")
	}
}

// TestLossesInARow: until whoever polls once per idle timeout had the time to come
// after a loss, the line is not taken to have stood since: another loss forgets
// nobody who was in it at the first.
func TestLossesInARow(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000_000, 0)
	for _, lost := range []int64{1_100_000, 1_103_000, 1_150_000} { // after an outage of 100 s
		f.hears(t, r, lost, lost)
		f.hears(t, r, lost+1_000, lost)
		if m := r.Known("a").lost(); m.SeenAtMillis != 1_001_000 {
			t.Errorf("a second after the loss at %d the line is taken to have stood until %d, want 1001000", lost, m.SeenAtMillis)
		}
	}
	f.hears(t, r, 1_150_000+60_000, 1_150_000)
	if m := r.Known("a").lost(); m.SeenAtMillis != 1_211_000 {
		t.Errorf("an idle timeout after the loss the line is taken to have stood until %d", m.SeenAtMillis)
	}
}

// TestLeavingAgain takes no more memory: of what is remembered, it would push out others.
func TestLeavingAgain(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	for range 3 {
		leaves(t, r, line.Place{ID: idOf('l'), ArrivedAtMicros: 7})
	}
	if n := len(r.Known("a").departures.order); n != 1 {
		t.Errorf("one who left is remembered %d times", n)
	}
}

// TestAJoinBeforeTheStoreWasSeen: a server that was started while the store is away knows of a zone what its configuration says,
// and nothing of the invitation that is set. Nobody gets in by that when the store is back.
func TestAJoinBeforeTheStoreWasSeen(t *testing.T) {
	invited := settings("a", 1)
	invited.Invitation = "members"
	f := newFakeStore(invited)
	f.away = true
	r := New(Options{Store: f, Seeds: []zone.Settings{settings("a", 1)}})
	t.Cleanup(r.Stop)
	r.RunOnce(t.Context())
	f.do(func() { f.away = false })
	for _, want := range []error{line.ErrStoreUnavailable, nil} {
		if _, err := r.Join(t.Context(), "a", idOf('j')); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		r.RunOnce(t.Context())
	}
	if s := r.Settings("a"); s.Invitation != "members" {
		t.Error("the zone was read, and is not known")
	}
}
