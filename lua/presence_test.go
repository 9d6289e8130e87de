package lua

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// evicted is a zone of which Redis loses keys, with its visitors and a server that heals it.
type evicted struct {
	*testing.T
	store *Store
	clock *conformance.Clock
	zone  zone.Settings
	// heard is the newest state of the line, losses how many losses were heard of.
	heard  line.State
	losses int
	// tokens are those of the visitors who poll as told, by id; dead are tokens that nobody must enter with.
	tokens map[line.ID]line.Place
	dead   []line.Place
	// admitted is when each entered, departed what a server tells a store that has lost data.
	admitted map[line.ID]int64
	departed []line.Departure
	done     []line.Stay
	order    []line.ID
	next     byte
}

// newEvicted is a zone with 60 visitors, of whom some have entered.
func newEvicted(t *testing.T) *evicted {
	t.Helper()
	e := &evicted{T: t, clock: conformance.NewClock(), tokens: map[line.ID]line.Place{}, admitted: map[line.ID]int64{}}
	e.store, e.zone = openStore(t, e.clock.Now), zone.Defaults("Z")
	e.zone.PerMinute, e.zone.IdleTimeoutSeconds, e.zone.MaxInside = 60, 20, 1000
	_, err := e.store.PutZone(t.Context(), e.zone, nil, audit.By{Name: "somebody"})
	must(e.T, err)
	for range 60 {
		e.join()
	}
	e.goOn(10 * time.Second)
	return e
}

// heal is what a server does when the zone is unknown.
func (e *evicted) heal() {
	e.Helper()
	must(e.T, e.store.RestoreZone(e.Context(), e.zone, line.Memory{
		Epoch: e.heard.Epoch, SeenAtMillis: e.heard.NowMillis, EdgeMicros: e.heard.EdgeMicros, LastArrivalMicros: e.heard.LastArrivalMicros,
		Inside: e.heard.Inside, LongestMillis: e.heard.LongestMillis,
	}))
}

func (e *evicted) learn(s line.State) {
	e.Helper()
	if s.LostAtMillis != e.heard.LostAtMillis {
		e.losses++
		must(e.T, e.store.Recall(e.Context(), "Z", e.departed))
		_, err := e.store.Report(e.Context(), "Z", line.SessionReport{Stays: e.done})
		must(e.T, err)
	}
	e.heard = s
}

func (e *evicted) join() line.ID {
	e.Helper()
	e.next++
	id := visitor(e.next)
	a, err := e.store.Join(e.Context(), "Z", id)
	if errors.Is(err, line.ErrZoneUnknown) {
		e.heal()
		a, err = e.store.Join(e.Context(), "Z", id)
	}
	must(e.T, err)
	e.learn(a.State)
	e.answered(id, a)
	return id
}

func (e *evicted) answered(id line.ID, a line.Answer) {
	e.Helper()
	switch a.Status {
	case line.Waiting:
		e.tokens[id] = a.Place
	case line.Admitted:
		if at, again := e.admitted[id]; again {
			e.Errorf("%q entered at %d, and again at %d", id[0], at, a.AdmittedAtMillis)
		}
		e.admitted[id] = a.AdmittedAtMillis
		e.order = append(e.order, id)
		e.departed = append(e.departed, line.Departure{Place: a.Place, AdmittedAtMillis: a.AdmittedAtMillis})
		delete(e.tokens, id)
	default:
		e.Errorf("%q, who polls as told: status %d", id[0], a.Status)
	}
}

func (e *evicted) leaves(id line.ID) {
	e.Helper()
	must(e.T, e.store.Leave(e.Context(), "Z", e.tokens[id]))
	e.departed = append(e.departed, line.Departure{Place: e.tokens[id]})
	e.dead = append(e.dead, e.tokens[id])
	delete(e.tokens, id)
}

// isDone has the first who entered be done, who gets no pass again.
func (e *evicted) isDone() {
	e.Helper()
	first := e.departed[0]
	e.done = []line.Stay{{Admission: line.Admission{ID: first.Place.ID, AtMillis: first.AdmittedAtMillis}}}
	_, err := e.store.Report(e.Context(), "Z", line.SessionReport{Stays: e.done})
	must(e.T, err)
	e.dead = append(e.dead, first.Place)
}

// goOn has everybody poll as told for the span, the dead show their tokens, and the sweeper sweep.
func (e *evicted) goOn(span time.Duration) {
	e.Helper()
	for end := e.clock.Now().Add(span); e.clock.Now().Before(end); e.clock.Add(250 * time.Millisecond) {
		st, err := e.store.Observe(e.Context(), "Z", 0)
		if errors.Is(err, line.ErrZoneUnknown) {
			e.heal()
			st, err = e.store.Observe(e.Context(), "Z", 0)
		}
		must(e.T, err)
		e.learn(st.State)
		now := e.clock.Now().UnixMilli()
		for n := range e.next {
			if p, waits := e.tokens[visitor(n+1)]; waits && p.DueMillis <= now {
				a, err := e.store.Poll(e.Context(), "Z", p)
				must(e.T, err)
				e.learn(a.State)
				e.answered(p.ID, a)
			}
		}
		for _, p := range e.dead {
			if a, err := e.store.Poll(e.Context(), "Z", p); err != nil || a.Status != line.Gone {
				e.Errorf("the dead one %q: status %d, %v", p.ID[0], a.Status, err)
			}
		}
		if now/250%40 == 0 {
			sweepAll(e.T, e.store)
		}
	}
}

// TestEachKeyLost: Redis evicts one kind of key of a zone. If the zone has to have it, the zone is unknown from the next call on,
// and all that a store promises of a loss holds: never over, no lost place, in order, and the dead stay dead.
func TestEachKeyLost(t *testing.T) {
	t.Parallel()
	// quiet are the keys whose loss is none of the line's.
	const silent = "seen of the silent"
	quiet := []string{"audit", "record", "sweep", "waits", "marks", "seen:", silent}
	for _, key := range []string{"zone", "line", "live", "due", "log", "departed", "seen:", "waits", "marks", "inside", "over", "audit", "record", "sweep", silent, ""} {
		t.Run("key "+key, func(t *testing.T) {
			t.Parallel()
			e := newEvicted(t)
			if key == "departed" { // there is one while a loss heals
				e.lose("line")
				e.goOn(time.Second)
			}
			for _, id := range []line.ID{visitor(30), visitor(40), visitor(50)} {
				e.leaves(id)
			}
			e.isDone()
			gone := []line.ID{visitor(55), visitor(56)}
			stands := e.tokens[gone[0]].ArrivedAtMicros
			for _, id := range gone {
				delete(e.tokens, id)
			}
			e.goOn(time.Second)
			if key == "marks" { // there are none in so short a line
				keys, mark := e.store.keys("Z"), e.heard.LastArrivalMicros
				must(e.T, e.store.client.ZAdd(t.Context(), keys[8], redis.Z{Score: float64(mark), Member: strconv.FormatInt(mark, 10)}).Err())
			}
			before, begin, inside := e.losses, key, stats(t, e.store).State.Inside
			if known := int64(len(e.admitted) - 1); inside < known {
				t.Fatalf("%d are inside, want %d", inside, known)
			}
			if key == silent {
				begin = fmt.Sprint("seen:", seenBucket(stands))
			}
			if n := e.lose(begin); n == 0 {
				t.Fatal("there was no such key")
			}
			e.goOn(250 * time.Millisecond)
			if noticed := e.losses > before; noticed == slices.Contains(quiet, key) {
				t.Errorf("a loss was noticed: %t", noticed)
			}
			if e.heard.Inside < inside {
				t.Errorf("%d are inside, before %d were", e.heard.Inside, inside)
			}
			e.join()
			e.goOn(2 * time.Minute)
			if e.losses == before && !slices.Contains(quiet, key) {
				t.Error("no loss was noticed")
			}
			e.finish(gone)
		})
	}
}

// TestNoKeyIsMissed: who departed is kept while a loss heals, and longer when another loss comes meanwhile. That it is forgotten
// later is no loss of a key.
func TestNoKeyIsMissed(t *testing.T) {
	t.Parallel()
	for _, between := range []time.Duration{24 * time.Minute, 26 * time.Minute} {
		e := newEvicted(t)
		e.lose("line")
		e.goOn(time.Second)
		e.leaves(visitor(30))
		e.goOn(time.Second)
		e.clock.Add(between)
		must(e.T, e.store.client.HSet(t.Context(), e.store.keys("Z")[0], "run_id", "another").Err()) // a fail-over
		e.tokens, e.dead = nil, nil
		e.goOn(5 * time.Second)
		e.clock.Add(between)
		e.goOn(11 * time.Second) // with a sweep
		if e.losses != 2 {
			t.Errorf("%d losses were noticed, want 2", e.losses)
		}
		kept := e.store.client.Exists(t.Context(), e.store.keys("Z")[5]).Val() > 0
		if want := between < 25*time.Minute; kept != want {
			t.Errorf("%v after the loss who departed is kept: %t", between, kept)
		}
	}
}

// lose has Redis lose the keys of the zone that begin so.
func (e *evicted) lose(key string) int64 {
	e.Helper()
	all := e.store.allKeys(e.T, "{Z}:"+key)
	if len(all) == 0 {
		return 0
	}
	n, err := e.store.client.Unlink(context.Background(), all...).Result()
	must(e.T, err)
	return n
}

// finish judges who entered.
func (e *evicted) finish(silent []line.ID) {
	e.Helper()
	var times []int64
	for id, at := range e.admitted {
		if slices.Contains(silent, id) {
			e.Errorf("the silent %q entered", id[0])
		}
		times = append(times, at)
	}
	slices.Sort(times)
	for i, at := range times {
		for limit, span := range map[int]int64{6: 6_000, 60: 60_000} {
			if i >= limit && at-times[i-limit] <= span {
				e.Errorf("more than %d entered in the %d ms before %d", limit, span, at)
			}
		}
	}
	if len(e.tokens) > 0 {
		e.Errorf("%d still wait", len(e.tokens))
	}
	for i, id := range e.order {
		if i > 0 && int(e.order[i-1][0])-int(id[0]) > 12 {
			e.Errorf("%q entered before %q", e.order[i-1][0], id[0])
		}
	}
	if st := stats(e.T, e.store); st.State.Waiting != 0 {
		e.Errorf("%d ghosts were not swept", st.State.Waiting)
	}
	if n := e.store.footprint(e.T, "Z"); strings.Contains(fmt.Sprint(n), "seen") {
		e.Errorf("left over: %v", n)
	}
}
