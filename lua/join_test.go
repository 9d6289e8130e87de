package lua

import (
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestJoinsOfOneCall: newcomers take their places together, and still each finds the place
// that it has, be it from before or from this call.
func TestJoinsOfOneCall(t *testing.T) {
	t.Parallel()
	sc := newScene(t)
	sc.zone.MaxWaiting = 4
	put(t, sc.store, sc.zone)
	before := stats(t, sc.store).Totals.Joined
	tests := []struct {
		id       byte
		status   line.Status
		position int64
	}{
		{id: 'x', status: line.Waiting, position: 3},
		{id: 'b', status: line.Waiting, position: 1},
		{id: 'x', status: line.Waiting, position: 3},
		{id: 'a', status: line.AdmittedBefore},
		{id: 'c', status: line.Waiting, position: 2},
		{id: 'z', status: line.Waiting, position: 4},
		{id: 'v', status: line.Full},
		{id: 'z', status: line.Waiting, position: 4},
	}
	asks := make([]*request, len(tests))
	for i, tt := range tests {
		asks[i] = &request{op: opJoin, place: line.Place{ID: visitor(tt.id)}}
	}
	must(t, sc.store.sendBatch(t.Context(), sc.store.batch("Z"), asks))
	arrived := map[byte]int64{'b': sc.places['b'].ArrivedAtMicros, 'c': sc.places['c'].ArrivedAtMicros}
	for i, tt := range tests {
		a := asks[i].answer
		if a.Status != tt.status || a.Position != tt.position || tt.status != line.Full && a.Place.ID != visitor(tt.id) {
			t.Errorf("%d: join %c: %+v, want status %d and position %d", i, tt.id, a, tt.status, tt.position)
		}
		if at, known := arrived[tt.id]; known && at != a.Place.ArrivedAtMicros {
			t.Errorf("%d: %c stands at %d, and before at %d", i, tt.id, a.Place.ArrivedAtMicros, at)
		}
		if a.Status == line.Waiting {
			arrived[tt.id] = a.Place.ArrivedAtMicros
		}
	}
	for _, m := range members(t, sc.store, "line") {
		if id, _ := m.Member.(string); id != "" && (len(id) != 8 || arrived[id[0]] != int64(m.Score)) {
			t.Errorf("%v is in the line", m)
		}
	}
	if st := stats(t, sc.store); st.State.Waiting != 4 || st.Totals.Joined != before+2 {
		t.Errorf("%+v", st)
	}
}

// TestFirstInTheLineIsAnsweredFirst: three slots are for the first three of those of a call, in whatever order they came, and
// though the last shows the token of an earlier place.
func TestFirstInTheLineIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s := openStoreAt(t, sharedServer(t), clock.Now)
	z := zone.Defaults("Z")
	z.PerMinute, z.MaxPerSecond = 100, 3
	put(t, s, z)
	var polls []*request
	for i := range byte(14) {
		a, err := s.Join(t.Context(), "Z", visitor('a'+i))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == line.Waiting {
			polls = append([]*request{{op: opPoll, place: a.Place}}, polls...)
		}
	}
	stats(t, s) // The edge has come to those who wait.
	polls[0].place.ArrivedAtMicros -= 1_000_000
	clock.Add(time.Duration(z.WindowSeconds)*time.Second + time.Millisecond)
	must(t, s.sendBatch(t.Context(), s.batch("Z"), polls))
	var in string
	for _, q := range polls {
		if q.answer.Status == line.Admitted {
			in += string(rune(q.place.ID[0]))
		}
	}
	if in != "klm" || len(polls) != 4 {
		t.Errorf("of %d, %s are in, want klm", len(polls), in)
	}
}

// TestACrowdIsTakenIn: nobody is refused of 6,000 who join at once, whom Redis answers within callTimeout.
func TestACrowdIsTakenIn(t *testing.T) {
	t.Parallel()
	s := openStore(t, nil)
	put(t, s, zone.Defaults("Z"))
	const n = 6_000
	var begin sync.WaitGroup
	begin.Add(n)
	inTurn(n, n, func(i int) {
		begin.Done()
		begin.Wait()
		if _, err := s.Join(t.Context(), "Z", farID(i)); err != nil {
			t.Error(err)
		}
	})
}
