package zones

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// told is a crowd in a zone of a server, and what the meter hears of it.
type told struct {
	r *Zones
	z *Zone
	m *watched
}

func newTold(t *testing.T) *told {
	t.Helper()
	m := &watched{}
	r, _ := newTest(t, newFakeStore(settings("a", 60)), Options{Meter: m})
	return &told{r, r.Known("a"), m}
}

const toldAt = int64(1_800_000_000_000)

// waits has one be told so many seconds after the beginning that it will wait so many, give or take a tenth.
func (c *told) waits(id line.ID, after, seconds int64) {
	c.z.answered(&line.Told{EstimateMillis: 1000 * seconds, LowMillis: 900 * seconds, HighMillis: 1100 * seconds, Answer: line.Answer{
		Status: line.Waiting, Place: line.Place{ID: id, ArrivedAtMicros: 1}, Position: 5, PeriodMillis: 2_000,
		State: line.State{NowMillis: toldAt + 1000*after, Waiting: 5},
	}})
}

// enters has one be admitted.
func (c *told) enters(id line.ID, after int64, status line.Status) {
	c.z.answered(&line.Told{Answer: line.Answer{
		Status: status, Place: line.Place{ID: id, ArrivedAtMicros: 1}, AdmittedAtMillis: toldAt + 1000*after,
		State: line.State{NowMillis: toldAt + 1000*after, Waiting: 5},
	}})
}

// judged are the errors of what was judged since the last time.
func (c *told) judged(t *testing.T, want ...float64) {
	t.Helper()
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	var got []float64
	for _, j := range c.m.judged {
		got = append(got, j.Off)
	}
	if !slices.Equal(got, want) {
		t.Errorf("off by %v, want %v", got, want)
	}
	c.m.judged = nil
}

// TestWhatOneWasToldIsJudged once, at the admission; also where another server let it in and this one hears of that.
func TestWhatOneWasToldIsJudged(t *testing.T) {
	c := newTold(t)
	c.waits(line.ID{1}, 0, 10)
	c.waits(line.ID{2}, 0, 40)
	c.waits(line.ID{4}, 15, 5)              // within a window of the admission
	c.enters(line.ID{3}, 20, line.Admitted) // was told elsewhere
	c.enters(line.ID{4}, 20, line.Admitted)
	c.judged(t)
	c.enters(line.ID{1}, 20, line.Admitted)
	c.judged(t, -0.5)
	c.enters(line.ID{1}, 20, line.AdmittedBefore)
	c.enters(line.ID{2}, 20, line.AdmittedBefore)
	c.judged(t, 1)
}

// TestOneOfAllEstimatesIsJudged: which, chance decides.
func TestOneOfAllEstimatesIsJudged(t *testing.T) {
	c := newTold(t)
	for i := range byte(200) {
		c.waits(line.ID{i}, 0, 20) // exact
		c.waits(line.ID{i}, 10, 5) // half of it
		c.enters(line.ID{i}, 20, line.Admitted)
	}
	exact := 0
	for _, j := range c.m.judged {
		if j.Off == 0 {
			exact++
		}
	}
	if len(c.m.judged) != 200 || exact < 50 || exact > 150 {
		t.Errorf("%d of %d that were judged are of the first estimate", exact, len(c.m.judged))
	}
}

// TestWhoIsNotJudged: who fell silent is forgotten, who joined anew begins anew, and while people
// gather nobody is told when it enters.
func TestWhoIsNotJudged(t *testing.T) {
	c := newTold(t)
	c.waits(line.ID{1}, 0, 20)
	idle := c.z.settings.Load().IdleTimeout()
	for _, tt := range []struct{ late, want int }{{2, 1}, {3, 0}} {
		c.z.judge.fit(toldAt+(idle+time.Duration(tt.late)*time.Second).Milliseconds(), 5, idle)
		if n := len(c.z.judge.byID); n != tt.want {
			t.Errorf("%d s late: %d are remembered, want %d", tt.late, n, tt.want)
		}
	}
	c.waits(line.ID{2}, 100, 200)
	for _, p := range []struct {
		id       byte
		position int64
	}{{2, 9}, {3, 0}} {
		c.z.answered(&line.Told{EstimateMillis: 10_000, Answer: line.Answer{
			Status: line.Waiting, Place: line.Place{ID: line.ID{p.id}, ArrivedAtMicros: 2}, Position: p.position,
			State: line.State{NowMillis: toldAt + 110_000, Waiting: 5},
		}})
		c.enters(line.ID{p.id}, 130, line.Admitted)
	}
	c.judged(t, -0.5)
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
			s := *c.z.settings.Load()
			tt.change(&s)
			if _, err := c.r.PutZone(t.Context(), s, nil, audit.By{Name: "test"}); err != nil {
				t.Fatal(err)
			}
			c.enters(line.ID{1}, 10, line.Admitted)
			c.judged(t, tt.want...)
		})
	}
}

// TestAChangeThatTheTableKnows: what a table of before it told is not judged either.
func TestAChangeThatTheTableKnows(t *testing.T) {
	t.Parallel()
	r, lines, now := onEmbedded(t)
	if _, err := r.PutZone(t.Context(), settings("a", 60), nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	z := r.Known("a")
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
	if _, err := lines.PutZone(t.Context(), settings("a", 600), nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	remembers("the table after", false)
}

// TestSampleIsBounded: of a long line some are looked at; as it gets shorter, others.
func TestSampleIsBounded(t *testing.T) {
	c := newTold(t)
	j, idle := &c.z.judge, c.z.settings.Load().IdleTimeout()
	rng := rand.New(rand.NewPCG(1, 2))
	const waiting = 20_000
	j.fit(toldAt, waiting, idle)
	for range waiting {
		var id line.ID
		if binary.BigEndian.PutUint64(id[:], rng.Uint64()); j.looksAt(id) {
			c.waits(id, 0, 200)
		}
	}
	if n := len(j.byID); n < mostJudged*3/4 || n > mostJudged {
		t.Errorf("%d of %d are looked at", n, waiting)
	}
	j.fit(toldAt+1_000_000, 0, idle) // they all leave
	if len(j.byID) != 0 || !j.looksAt(line.ID{4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff}) {
		t.Errorf("of a line that is gone, %d are looked at, and not all who come", len(j.byID))
	}
	for i := range 2 * mostJudged { // whose ids are no random numbers
		c.waits(line.ID{byte(i), byte(i >> 8)}, 0, 200)
	}
	if n := len(j.byID); n > mostJudged {
		t.Errorf("%d are looked at", n)
	}
}
