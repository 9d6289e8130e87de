package lua

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// farCrowd is a line of which the last third is far from the front, seen by two
// servers.
type farCrowd struct {
	*testing.T
	clock   *conformance.Clock
	servers [2]*Store
	places  []line.Place
	told    []int64 // the latest position
}

func newFarCrowd(t *testing.T) *farCrowd {
	t.Helper()
	f := &farCrowd{T: t, clock: conformance.NewClock()}
	f.servers[0], f.servers[1] = openStore(t, f.clock.Now), openStore(t, f.clock.Now)
	f.servers[1].prefix = f.servers[0].prefix
	z := zone.Defaults("Z")
	z.PerMinute = 600
	put(t, f.servers[0], z)
	const n = exactUpTo*3/2 + 100
	f.places, f.told = make([]line.Place, n), make([]int64, n)
	f.together(n, func(i int) {
		a, err := f.servers[0].Join(t.Context(), "Z", farID(i))
		if err != nil {
			t.Errorf("join: %v", err)
		}
		f.places[i], f.told[i] = a.Place, a.Position
	})
	return f
}

// farID is the id of the i-th.
func farID(i int) (id line.ID) {
	binary.BigEndian.PutUint64(id[:], uint64(i)*0x9e3779b97f4a7c15)
	return id
}

// together does something for each of n, many at a time, as a crowd does.
func (f *farCrowd) together(n int, do func(i int)) {
	f.Helper()
	inTurn(512, n, do)
}

// exact is the position in the sorted set, 0 for none.
func (f *farCrowd) exact(p line.Place) int64 {
	f.Helper()
	s := f.servers[0]
	rank, err := s.client.ZRank(context.Background(), s.keys("Z")[1], string(p.ID[:])).Result()
	if err != nil {
		return 0
	}
	return rank + 1
}

// touches is how many polls both servers answered from memory.
func (f *farCrowd) touches() float64 {
	for _, s := range f.servers {
		s.flush(s.batch("Z"))
	}
	return testutil.ToFloat64(f.servers[0].metrics.touches) + testutil.ToFloat64(f.servers[1].metrics.touches)
}

// TestPositionsFarAway: at most 511 too high, exact near the front, and never
// rising, whichever server one asks, while others leave.
func TestPositionsFarAway(t *testing.T) {
	t.Parallel()
	f := newFarCrowd(t)
	// Some enter between a poll and the look at the set.
	const entering, leave = 200, 2_000
	rng := rand.New(rand.NewPCG(1, 2))
	polled := rng.Perm(len(f.places))[:len(f.places)/8]
	for round := range 4 {
		f.clock.Add(4 * time.Second)
		leaving := rng.Perm(len(f.places))[:leave]
		f.together(len(leaving), func(i int) {
			if err := f.servers[0].Leave(t.Context(), "Z", f.places[leaving[i]]); err != nil {
				t.Errorf("leave: %v", err)
			}
			f.places[leaving[i]].DueMillis = 0 // as package zones has it, which remembers
		})
		f.together(len(polled), func(i int) {
			who := polled[i]
			a, err := f.servers[(i+round)%2].Poll(t.Context(), "Z", f.places[who])
			exact := f.exact(f.places[who])
			switch {
			case err != nil:
				t.Errorf("poll: %v", err)
			case a.Status != line.Waiting:
				if exact != 0 {
					t.Errorf("status %d of one who waits", a.Status)
				}
			case a.Position > f.told[who]:
				t.Errorf("the position rose from %d to %d", f.told[who], a.Position)
			case a.Position < exact || a.Position >= exact+markEvery+entering+2*leave: // it is of the last rounds
				t.Errorf("position %d, exactly %d", a.Position, exact)
			case a.State.Waiting == 0 || a.Place.ID != f.places[who].ID || a.Place.ArrivedAtMicros != f.places[who].ArrivedAtMicros ||
				a.Place.DueMillis != a.State.NowMillis+a.PeriodMillis || a.PeriodMillis == 0:
				t.Errorf("not all is told: %+v", a)
			}
			if a.Status == line.Waiting {
				f.places[who], f.told[who] = a.Place, a.Position
			}
		})
	}
	if n := f.touches(); n == 0 {
		t.Error("nobody was touched")
	}
}

// marksKey is where the marks are among a zone's keys.
const marksKey = 8

// sweep goes through all of the line so many times.
func (f *farCrowd) sweep(times int) {
	f.Helper()
	for cursor := uint64(0); times > 0; {
		sweep, err := f.servers[0].Sweep(f.Context(), "Z", "one", cursor)
		if err != nil {
			f.Fatal(err)
		}
		if cursor = sweep.Next; cursor == 0 {
			times--
		}
	}
}

// TestPositionsAreForgottenWhenTheLineSlows: a visitor whose period was short may have heard a newer position than the one
// that is remembered, and that position would be good for half of a period that has become long.
func TestPositionsAreForgottenWhenTheLineSlows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pace, cap int64
		remembers bool
	}{
		"as before":       {600_000, 60_000, true},
		"a little slower": {400_000, 60_000, true},
		"far slower":      {60_000, 60_000, false},
		"paused":          {0, 60_000, false},
		"longer periods":  {600_000, 120_000, false},
	} {
		v, at := rankCache{}, time.Unix(1_000, 0)
		said := func(at time.Time, marks []int64, pace, most int64) {
			if err := v.learn(at, line.State{}, marks, []int64{0, 0, pace, most, 1}); err != nil {
				t.Fatal(err)
			}
		}
		said(at, []int64{1_000, 2_000, 60_000}, 600_000, 60_000)
		said(at.Add(time.Second), nil, tt.pace, tt.cap)
		if got := len(v.spans) > 0; got != tt.remembers {
			t.Errorf("%s: the position is remembered: %t", name, got)
		}
	}
}

// TestPositionsWhileTheLineSlows: a position is good for half of the visitor's period, but for spanAge alone while the line
// slows by little at a time, or since fewer have left: the period before was shorter.
func TestPositionsWhileTheLineSlows(t *testing.T) {
	t.Parallel()
	const far = 400_000
	begun := time.UnixMilli(1_800_000_000_000)
	type look struct{ pace, passed, live int64 }
	for name, tt := range map[string]struct {
		looks    []look
		answered bool
	}{
		"as fast":           {[]look{{60_000, 300, 200}, {60_000, 300, 200}, {60_000, 300, 200}}, true},
		"a little slower":   {[]look{{60_000, 0, 0}, {60_000, 0, 0}, {50_000, 0, 0}}, true},
		"slower in steps":   {[]look{{60_000, 0, 0}, {40_000, 0, 0}, {25_000, 0, 0}}, false},
		"fewer have left":   {[]look{{60_000, 300, 100}, {60_000, 300, 150}, {60_000, 300, 200}}, false},
		"nobody had stayed": {[]look{{60_000, 300, 0}, {60_000, 300, 200}, {60_000, 300, 200}}, false},
	} {
		var v rankCache
		at := func(i int) time.Time { return begun.Add(time.Duration(4*i) * time.Second) }
		for i, l := range tt.looks {
			state := line.State{NowMillis: at(i).UnixMilli(), WindowLimit: 100, EdgePassed: l.passed, EdgeLive: l.live, Waiting: 2 * far}
			var marks []int64
			if i == 0 {
				marks = []int64{0, begun.UnixMicro(), far}
			}
			if err := v.learn(at(i), state, marks, []int64{0, 0, l.pace, 20_000, 1}); err != nil {
				t.Fatal(err)
			}
		}
		p := line.Place{ArrivedAtMicros: begun.Add(-time.Hour).UnixMicro(), DueMillis: at(2).UnixMilli()}
		if _, ok := v.answer(at(2), p); ok != tt.answered {
			t.Errorf("%s: answered from memory: %t", name, ok)
		}
	}
}

// TestRecoversFromSlowness: a store that takes no calls for ten seconds. Nearly all who are far away are answered from memory
// soon after, as before.
func TestRecoversFromSlowness(t *testing.T) {
	t.Parallel()
	f := newFarCrowd(t)
	paused := zone.Defaults("Z")
	paused.PerMinute = 0
	put(t, f.servers[0], paused)
	const (
		second   = 10 // ticks
		slowFrom = 60
		slowTill = 70
		end      = 110
		retry    = 3 * second
	)
	slow := false
	for _, s := range f.servers {
		s.noteAfter = time.Hour
	}
	front := openStore(t, f.clock.Now)
	front.prefix = f.servers[0].prefix
	for _, s := range f.servers {
		s.client.AddHook(away{func() bool { return slow }})
	}
	all := f.arrived()
	far := all[exactUpTo+markEvery:]
	// They are released, and keep the edge away from those who are far: behind the edge of a paused zone many ask.
	live := all[100:120]
	next := make(map[int][]int) // who polls when
	for i, who := range far {
		next[i%(20*second)] = append(next[i%(20*second)], who)
	}
	var polls, asked [end]int
	for tick := range end * second {
		f.clock.Add(time.Second / second)
		at := tick / second
		slow = at >= slowFrom && at < slowTill
		if tick%(2*second) == 0 {
			for _, s := range f.servers {
				s.flush(s.batch("Z"))
			}
			for _, who := range live {
				if _, err := front.Poll(t.Context(), "Z", f.places[who]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, who := range next[tick] {
			a, err := f.servers[(who+tick)%2].Poll(t.Context(), "Z", f.places[who])
			polls[at]++
			if !a.Remembered {
				asked[at]++
			}
			again := retry
			switch {
			case err == nil && a.Status != line.Waiting:
				t.Fatalf("%+v at %d s", a, at)
			case err == nil:
				f.places[who], again = a.Place, int(a.PeriodMillis)*second/1000
			}
			next[tick+again] = append(next[tick+again], who)
		}
		delete(next, tick)
	}
	sum := func(of []int) (n int) {
		for _, each := range of {
			n += each
		}
		return n
	}
	// Those who wait for long find all positions looked up, together with notes.
	if from := slowFrom - 10; 200*sum(asked[from:slowFrom]) > sum(polls[from:slowFrom]) {
		t.Errorf("when all is well %v of %v asked", asked[from:slowFrom], polls[from:slowFrom])
	}
	if till := slowFrom + 6; 20*sum(asked[slowFrom:till]) > sum(polls[slowFrom:till]) {
		t.Errorf("while Redis is slow %v of %v asked", asked[slowFrom:till], polls[slowFrom:till])
	}
	if after := slowTill + 2; 20*sum(asked[after:after+10]) > sum(polls[after:after+10]) {
		t.Errorf("each second polled %v, of whom these asked: %v", polls, asked)
	}
}
