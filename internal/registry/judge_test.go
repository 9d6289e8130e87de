package registry

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// told is a crowd in a zone of a server, and what the meter hears of it.
type told struct {
	r *Registry
	z *Zone
	m *watched
}

func newTold(t *testing.T) *told {
	t.Helper()
	m := &watched{}
	r, _ := newTest(t, newFakeStore(settings("a", 60)), Options{Meter: m})
	return &told{r, r.lookup("a"), m}
}

const toldAt = int64(1_800_000_000_000)

// waits has one be told so many seconds after the beginning that it will wait so many, give or take a tenth.
func (c *told) waits(id line.ID, after, seconds int64) {
	c.z.answered(&line.Told{EstimateMillis: 1000 * seconds, LowMillis: 900 * seconds, HighMillis: 1100 * seconds, Answer: line.Answer{
		Status: line.Waiting, Place: line.Place{ID: id, ArrivedAtMicros: 1}, Position: 5, PeriodMillis: 2_000,
		State: line.State{NowMillis: toldAt + 1000*after, Waiting: 5},
	}})
}

// enters has one be let in.
func (c *told) enters(id line.ID, after int64, status line.Status) {
	c.z.answered(&line.Told{Answer: line.Answer{
		Status: status, Place: line.Place{ID: id, ArrivedAtMicros: 1}, AdmittedAtMillis: toldAt + 1000*after,
		State: line.State{NowMillis: toldAt + 1000*after, Waiting: 5},
	}})
}

// judged are the errors of what was judged so many seconds after the beginning, since the last time.
func (c *told) judged(t *testing.T, after int64, want ...float64) {
	t.Helper()
	c.z.learn(line.State{NowMillis: toldAt + 1000*after, Waiting: 5}, 0)
	c.r.judgeAll(t.Context())
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	var got []float64
	for _, j := range c.m.judged {
		got = append(got, j.Off)
	}
	if !slices.Equal(got, want) {
		t.Errorf("after %d s: off by %v, want %v", after, got, want)
	}
	c.m.judged = nil
}

// TestAllThatOneWasToldIsJudged, once, a second after the admission; also where another server let
// it in and this one hears of that.
func TestAllThatOneWasToldIsJudged(t *testing.T) {
	c := newTold(t)
	c.waits(line.ID{1}, 0, 20)
	c.waits(line.ID{2}, 0, 40)
	c.waits(line.ID{1}, 10, 5)
	c.waits(line.ID{1}, 15, 5) // within a window of the admission
	c.enters(line.ID{1}, 20, line.Admitted)
	c.enters(line.ID{3}, 20, line.Admitted) // was told elsewhere
	c.judged(t, 20)
	c.judged(t, 21, 0, -0.5)
	c.enters(line.ID{1}, 20, line.AdmittedBefore)
	c.enters(line.ID{2}, 20, line.AdmittedBefore)
	c.judged(t, 22, 1)
	c.judged(t, 23)
}

// TestWhoIsNotJudged: who fell silent is forgotten, who joined anew begins anew, and while people
// gather nobody is told when it enters.
func TestWhoIsNotJudged(t *testing.T) {
	c := newTold(t)
	c.waits(line.ID{1}, 0, 20)
	idle := int64(c.z.settings.Load().IdleTimeout().Seconds())
	c.judged(t, idle+2)
	if len(c.z.judge.byID) != 1 {
		t.Error("one who may come yet is forgotten")
	}
	c.judged(t, idle+3)
	if len(c.z.judge.byID) != 0 {
		t.Error("one who fell silent is remembered")
	}
	c.waits(line.ID{2}, 100, 200)
	c.z.answered(&line.Told{EstimateMillis: 10_000, Answer: line.Answer{
		Status: line.Waiting, Place: line.Place{ID: line.ID{2}, ArrivedAtMicros: 2}, Position: 9,
		State: line.State{NowMillis: toldAt + 110_000, Waiting: 5},
	}})
	c.z.answered(&line.Told{EstimateMillis: 10_000, Answer: line.Answer{
		Status: line.Waiting, Place: line.Place{ID: line.ID{3}, ArrivedAtMicros: 2},
		State: line.State{NowMillis: toldAt + 110_000, Waiting: 5},
	}})
	c.enters(line.ID{2}, 130, line.Admitted)
	c.enters(line.ID{3}, 130, line.Admitted)
	c.judged(t, 131, -0.5)
}

// TestWhatAnOperatorChangedIsNotJudged: the limit, the mode; not a text.
func TestWhatAnOperatorChangedIsNotJudged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*zone.Settings)
		want   []float64
	}{
		"the limit":     {func(s *zone.Settings) { s.PerMinute = 600 }, nil},
		"a pause":       {func(s *zone.Settings) { s.PerMinute = 0 }, nil},
		"the mode":      {func(s *zone.Settings) { s.Mode = zone.ModeOpen }, nil},
		"it sold out":   {func(s *zone.Settings) { s.SoldOut = zone.Texts{"en": "Sold out"} }, nil},
		"a text":        {func(s *zone.Settings) { s.Message = zone.Texts{"en": "Hello"} }, []float64{1}},
		"a full line's": {func(s *zone.Settings) { s.MaxWaiting = 100 }, []float64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTold(t)
			c.waits(line.ID{1}, 0, 20)
			c.enters(line.ID{1}, 10, line.Admitted)
			s := *c.z.settings.Load()
			tt.change(&s)
			if _, err := c.r.PutZone(t.Context(), s, nil, "test"); err != nil {
				t.Fatal(err)
			}
			c.judged(t, 11, tt.want...)
		})
	}
}

// TestAChangeThatTheTableKnows: what a table of before it told is not judged either.
func TestAChangeThatTheTableKnows(t *testing.T) {
	t.Parallel()
	r, lines, now := onEmbedded(t)
	if _, err := r.PutZone(t.Context(), settings("a", 60), nil, "test"); err != nil {
		t.Fatal(err)
	}
	z := r.lookup("a")
	remembers := func(what string, want bool) {
		t.Helper()
		*now = now.Add(time.Millisecond)
		observe(t, r)
		if got := len(z.judge.byID) > 0; got != want {
			t.Errorf("%s: something is to be judged: %v", what, got)
		}
	}
	for i := range 50 {
		if _, err := r.Join(t.Context(), "a", line.ID{byte(i)}); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Millisecond)
	}
	remembers("the first table", true)
	remembers("the second", true)
	// Another server's operator; this one has not read the settings yet.
	if _, err := lines.PutZone(t.Context(), settings("a", 600), nil, "test"); err != nil {
		t.Fatal(err)
	}
	remembers("the table after", false)
}

// TestSampleIsBounded: of a long line some are looked at, from what they were told first to what they were told last; as
// it gets shorter, others.
func TestSampleIsBounded(t *testing.T) {
	c := newTold(t)
	j, s := &c.z.judge, *c.z.settings.Load()
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]line.ID, 20_000)
	for i := range ids {
		binary.BigEndian.PutUint64(ids[i][:], rng.Uint64())
	}
	j.settle(toldAt, int64(len(ids)), s, mostJudged)
	for round := range int64(100) {
		for _, id := range ids {
			if j.looksAt(id) {
				c.waits(id, round, 200-round)
			}
		}
	}
	if n := len(j.byID); n < mostJudged*3/4 || n > mostJudged {
		t.Errorf("%d of %d are looked at", n, len(ids))
	}
	for _, v := range j.byID {
		if first, last := v.told[0], v.told[len(v.told)-1]; first.AtMicros != 1000*toldAt || len(v.told) > maxTold || len(v.told) < maxTold/2 || last.Millis > 110_000 {
			t.Fatalf("%d kept, the first %+v, the last %+v", len(v.told), first, last)
		}
		for i, x := range v.told[1:] {
			if apart := x.AtMicros - v.told[i].AtMicros; apart > 4_000_000 {
				t.Fatalf("what is kept of a hundred seconds is %d us apart: %+v", apart, v.told)
			}
		}
	}
	// A line in each of a thousand zones.
	all := j.settle(toldAt+100_000, int64(len(ids)), s, leastJudged)
	if n := len(j.byID); n > 2*leastJudged || len(all) > 0 {
		t.Errorf("%d are looked at, %d judged", n, len(all))
	}
	// They all leave.
	j.settle(toldAt+1_000_000, 0, s, mostJudged)
	if len(j.byID) != 0 || !j.looksAt(line.ID{4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff}) {
		t.Errorf("of a line that is gone, %d are looked at, and not all who come", len(j.byID))
	}
	// Whose ids are no random numbers.
	for i := range 2 * mostJudged {
		c.waits(line.ID{byte(i), byte(i >> 8)}, 0, 200)
	}
	if n := len(j.byID); n > mostJudged {
		t.Errorf("%d are looked at", n)
	}
}

// waitingStore tells whoever polls the same.
type waitingStore struct{ store.Store }

func (waitingStore) Poll(_ context.Context, _ string, p line.Place) (line.Answer, error) {
	return line.Answer{
		Status: line.Waiting, Place: p, Position: 1234, WaitMillis: 61_000, PeriodMillis: 9_400,
		State: line.State{NowMillis: toldAt, Waiting: 5_000, EdgeMicros: 1},
	}, nil
}

// TestPollOfOneWhoIsNotLookedAt allocates nothing.
func TestPollOfOneWhoIsNotLookedAt(t *testing.T) {
	r, _ := newTest(t, newFakeStore(), Options{})
	r.store = waitingStore{}
	r.remember(settings("a", 1), true)
	r.lookup("a").judge.below.Store(math.MaxUint32 / 2)
	poll := func(id line.ID) float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := r.Poll(t.Context(), "a", line.Place{ID: id, ArrivedAtMicros: 1}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if n := poll(line.ID{4: 0xff}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := poll(line.ID{7: 2}); n != 0 {
		t.Errorf("%v allocations for one who is looked at, and was before", n)
	}
}

func BenchmarkPollWaiting(b *testing.B) {
	for name, id := range map[string]line.ID{"one of the sample": {7: 2}, "one who is not": {4: 0xff}} {
		b.Run(name, func(b *testing.B) {
			r := New(Options{Store: waitingStore{}})
			r.remember(settings("a", 1), true)
			r.lookup("a").judge.below.Store(math.MaxUint32 / 2)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Poll(ctx, "a", line.Place{ID: id, ArrivedAtMicros: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
