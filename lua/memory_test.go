package lua

import (
	"context"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
)

// newFullScene is a scene on a Redis of its own, which has reached maxmemory.
func newFullScene(t *testing.T) *scene {
	t.Helper()
	url := ownServer(t)
	sc := newSceneAt(t, url)
	sc.memory("1")
	t.Cleanup(func() { sc.memory("0") }) // or the keys could not be removed
	return sc
}

func (sc *scene) memory(most string) {
	sc.Helper()
	// Not the test's context: it is over when the test cleans up.
	if err := sc.store.client.Do(context.Background(), "config", "set", "maxmemory", most).Err(); err != nil {
		sc.Fatal(err)
	}
}

// TestWithoutMemory: newcomers are refused, with nothing written. Those who wait
// go on: they poll, enter, leave and are swept, until there is memory again.
func TestWithoutMemory(t *testing.T) {
	t.Parallel()
	sc := newFullScene(t)
	sc.writesNothing(func() {
		_, err := sc.store.Join(t.Context(), "Z", visitor('x'))
		sc.fails(err, line.ErrStoreFull)
	})
	sc.polls(sc.places['b'], line.Waiting)
	sc.polls(sc.places['a'], line.AdmittedBefore)
	sc.clock.Add(6*time.Second + time.Millisecond)
	sc.polls(sc.places['b'], line.Admitted)

	if st := stats(t, sc.store); st.State.Waiting != 1 || st.Totals.Admitted != 2 {
		t.Errorf("%+v", st)
	}
	sc.clock.Add(sc.zone.IdleTimeout() + time.Second)
	sweepAll(t, sc.store)
	if st := stats(t, sc.store); st.State.Waiting != 0 || st.Totals.Swept != 1 {
		t.Errorf("after a sweep: %+v", st)
	}
	sc.zone.PerMinute = 0
	put(t, sc.store, sc.zone)
	for by, want := range map[string]bool{"who spends": true, "another": false} {
		if first, err := sc.store.Spend(t.Context(), "key", "who spends", time.Hour); !first || err != nil {
			t.Errorf("spend: %t, %v", first, err)
		}
		sc.fails(sc.store.PutDocument(t.Context(), audit.Limits, line.Document{Version: 1}, 0), nil)
		sc.fails(sc.store.PutDocument(t.Context(), audit.Limits, line.Document{}, 1), nil)
		if first, err := sc.store.Spend(t.Context(), "key", by, time.Hour); first != want || err != nil {
			t.Errorf("what is spent, by %s: %t, %v", by, first, err)
		}
	}

	sc.memory("0")
	a, err := sc.store.Join(t.Context(), "Z", visitor('x'))
	if err != nil || a.Status != line.Waiting {
		t.Fatalf("with memory again: %+v, %v", a, err)
	}
	sc.memory("1")
	sc.fails(sc.store.Leave(t.Context(), "Z", a.Place), nil)
	if st := stats(t, sc.store); st.Totals.Left != 1 {
		t.Errorf("after leaving: %+v", st)
	}
}

// TestACallOfAllKindsWithoutMemory: newcomers who travel with others do not keep
// these from what they may do.
func TestACallOfAllKindsWithoutMemory(t *testing.T) {
	t.Parallel()
	sc := newFullScene(t)
	sc.clock.Add(6*time.Second + time.Millisecond)
	asks := []*request{
		{op: opJoin, place: line.Place{ID: visitor('x')}},
		{op: opPoll, place: sc.places['b']},
		{op: opJoin, place: line.Place{ID: visitor('y')}},
		{op: opLeave, place: sc.places['c']},
	}
	joins, others := []*request{asks[0], asks[2]}, []*request{asks[1], asks[3]}
	poll := asks[1]
	must(t, sc.store.sendBatch(t.Context(), sc.store.batch("Z"), asks))
	for _, a := range joins {
		sc.fails(a.err, line.ErrStoreFull)
	}
	for _, a := range others {
		sc.fails(a.err, nil)
	}
	if poll.answer.Status != line.Admitted {
		t.Errorf("the one whose turn it was: %+v", poll.answer)
	}
	st := stats(t, sc.store)
	if want := (line.Totals{Joined: 3, Admitted: 2, Left: 1, Polls: 1}); st.Totals != want || st.State.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}
