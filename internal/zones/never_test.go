package zones

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ledger has every admission there was: the store's, told or not, and those that servers made by themselves.
type ledger struct {
	mu           sync.Mutex
	store, local []int64
}

func (l *ledger) write(a line.Told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.Status != line.Admitted:
	case a.Local:
		l.local = append(l.local, a.AdmittedAtMillis)
	default:
		l.store = append(l.store, a.AdmittedAtMillis)
	}
}

// over returns the first closed interval of the span that holds more than most.
func over(all []int64, span, most int64) (from, to int64, found bool) {
	all = slices.Sorted(slices.Values(all))
	for i := range len(all) - int(most) {
		if to := all[i+int(most)]; to-all[i] <= span {
			return all[i], to, true
		}
	}
	return 0, 0, false
}

// crowd is more visitors than the zone can take, at several servers.
type crowd struct {
	room   *room
	ledger *ledger
	places []line.Place
}

func newCrowd(t testing.TB, servers int, s zone.Settings) *crowd {
	t.Helper()
	c := &crowd{room: newRoom(t, servers, s), ledger: &ledger{}}
	for _, one := range c.room.servers {
		one.wire.wrote = c.ledger.write
	}
	return c
}

// rush has visitors ask a server until some are refused: those who wait, and newcomers, who come to stay as long as
// there is a store.
func (c *crowd) rush(s *server, dice *rand.Rand) {
	ctx := c.room.t.Context()
	for refused := 0; refused < 2; {
		var a line.Told
		var err error
		i := -1
		if len(c.places) < 10 || dice.IntN(10) == 0 {
			a, err = s.Join(ctx, testZone, c.room.newID())
		} else {
			i = dice.IntN(len(c.places))
			a, err = s.Poll(ctx, testZone, c.places[i])
		}
		if err == nil && a.Local {
			c.ledger.write(a)
		}
		switch entered := err == nil && a.Status != line.Waiting; {
		case entered && i >= 0:
			c.places = slices.Delete(c.places, i, i+1)
		case !entered:
			refused++
			if err == nil && i < 0 {
				c.places = append(c.places, a.Place)
			}
		}
	}
}

// span is an outage, in milliseconds from the start. Servers notice it one by one.
type span struct{ from, to int64 }

// TestNeverOver: whatever the limits, the number of servers and the outages, and though answers are lost when one begins,
// the store and the servers together never exceed a limit: not before, during, after, or across.
func TestNeverOver(t *testing.T) {
	var runs, local int
	rapid.Check(t, func(rt *rapid.T) {
		s := admitting(rapid.Int64Range(1, 120).Draw(rt, "perMinute"))
		s.WindowSeconds = rapid.SampledFrom([]int64{1, 2, 5, 6, 7, 13, 30, 60}).Draw(rt, "window")
		s.MaxPerSecond = rapid.SampledFrom([]zone.PerSecond{zone.PerSecondAuto, zone.PerSecondNone, 4, 5}).Draw(rt, "per second")
		s.Burst = rapid.SampledFrom([]int64{0, 0, 0, 1, 10}).Draw(rt, "burst")
		servers := rapid.IntRange(1, 4).Draw(rt, "servers")
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var outages []span
		end := int64(0)
		for range rapid.IntRange(1, 2).Draw(rt, "outages") {
			// Within 2*Apart every server notices that the store is back, and tells it: see decision 0004 for shorter pauses.
			from := end + rapid.Int64Range(2*Apart.Milliseconds(), 70_000).Draw(rt, "pause")
			end = from + rapid.Int64Range(0, 120_000).Draw(rt, "length")
			outages = append(outages, span{from, end})
		}
		c := newCrowd(t, servers, s)
		c.run(outages, end+80_000, dice)

		r, all := window.RatesOf(s), slices.Concat(c.ledger.store, c.ledger.local)
		if from, to, found := over(all, r.WindowMillis, r.Limit+s.Burst); found {
			rt.Fatalf("more than %d in a window: from %d to %d", r.Limit+s.Burst, from, to)
		}
		if from, to, found := over(all, window.MinuteMillis, r.PerMinute); found {
			rt.Fatalf("more than %d in a minute: from %d to %d", r.PerMinute, from, to)
		}
		// What the store admits itself, its own tests hold; in between nobody is admitted for a window.
		if from, to, found := over(c.ledger.local, window.SecondMillis, r.PerSecond); found && s.MaxPerSecond > 0 {
			rt.Fatalf("more than %d in a second: from %d to %d", r.PerSecond, from, to)
		}
		if runs++; len(c.ledger.local) > 0 {
			local++
		}
	})
	if local < 2 {
		t.Errorf("in %d of %d runs servers admitted by themselves: the test shows too little", local, runs)
	}
}

// run lets the crowd rush through the outages until end. Each server notices that the store is away, and back, up to
// 0.7 s late: with the period of the probes, within Apart. For 100 ms before, its answers are lost.
func (c *crowd) run(outages []span, end int64, dice *rand.Rand) {
	start := c.room.clock.Now()
	late := make([][2]int64, len(c.room.servers))
	current := -1
	for at := int64(0); at < end; at = c.room.clock.Now().Sub(start).Milliseconds() {
		i, _ := slices.BinarySearchFunc(outages, at, func(o span, at int64) int { return int(o.to + 700 - at) })
		if i < len(outages) && i != current {
			current = i
			for j := range late {
				late[j] = [2]int64{dice.Int64N(700), dice.Int64N(700)}
			}
		}
		for j, s := range c.room.servers {
			down, deaf := false, false
			if i < len(outages) {
				from, to := outages[i].from+late[j][0], outages[i].to+late[j][1]
				down, deaf = at >= from && at < to, at >= from-100 && at < to
			}
			s.wire.down.Store(down)
			s.wire.deaf.Store(deaf)
		}
		for _, j := range dice.Perm(len(c.room.servers)) {
			c.rush(c.room.servers[j], dice)
		}
		c.room.pass(time.Duration(dice.Int64N(500)) * time.Millisecond)
	}
}

// TestNeverOverUnderLoad: the same with 64 visitors' calls at once, while the clock runs, and the store goes and comes.
func TestNeverOverUnderLoad(t *testing.T) {
	s := admitting(600)
	c := newCrowd(t, 3, s)
	places := make([][]line.Place, 64)
	for i := range places {
		places[i] = c.room.join(c.room.servers[i%3], 20)
	}
	for step := range 1000 { // of 80 ms
		c.room.cut(step >= 125 && step < 625)
		var together sync.WaitGroup
		for i := range places {
			together.Go(func() { places[i] = c.turn(step+i, places[i]) })
		}
		together.Go(func() { c.room.pass(80 * time.Millisecond) })
		together.Wait()
	}

	r, all := window.RatesOf(s), slices.Concat(c.ledger.store, c.ledger.local)
	if from, to, found := over(all, r.WindowMillis, r.Limit); found {
		t.Errorf("more than %d in a window: from %d to %d", r.Limit, from, to)
	}
	if from, to, found := over(all, window.MinuteMillis, r.PerMinute); found {
		t.Errorf("more than %d in a minute: from %d to %d", r.PerMinute, from, to)
	}
	// 40 s of outage, of which the first 9 s give nothing.
	if n := len(c.ledger.local); n < 4*int(r.Limit) {
		t.Errorf("%d admitted locally, want at least 4 windows' worth", n)
	}
	if n := len(c.ledger.store); n < 4*int(r.Limit) { // in 40 s with the store
		t.Errorf("%d admitted by the store, want at least 4 windows' worth", n)
	}
}

// turn polls one of the places at one of the servers, and repeats an admission at the same server: it must be the same.
// It returns the places that are left.
func (c *crowd) turn(n int, places []line.Place) []line.Place {
	if len(places) == 0 {
		return nil
	}
	s, i := c.room.servers[n%3], n%len(places)
	first, err := s.Poll(c.room.t.Context(), testZone, places[i])
	if err != nil || first.Status == line.Waiting {
		return places
	}
	if first.Local {
		c.ledger.write(first)
		again, err := s.Poll(c.room.t.Context(), testZone, places[i])
		if again.Status = line.Admitted; err != nil || again != first {
			c.room.t.Errorf("repeated: %+v, %v; first %+v", again, err, first)
		}
	}
	return slices.Delete(places, i, i+1)
}

// walk is a line of eight minutes' worth of visitors, of whom some fell silent before the store went away.
type walk struct {
	room *room
	dice *rand.Rand
	// places are those of the visitors. next is when each asks next, in milliseconds; never, if negative.
	places []line.Place
	next   []int64
	// entered are those who went in, in that order.
	entered []int
}

func newWalk(t *testing.T, servers int, perMinute int64, silent float64) *walk {
	t.Helper()
	w := &walk{room: newRoom(t, servers, admitting(perMinute)), dice: rand.New(rand.NewPCG(1, 2))}
	for i := range int(8 * perMinute) {
		for _, p := range w.room.join(w.room.servers[i%servers], 1) {
			// The store told everybody to come within the longest period.
			next := w.room.clock.Now().UnixMilli() + w.dice.Int64N(window.FarPeriodMillis)
			if w.dice.Float64() < silent {
				next = -1
			}
			w.places, w.next = append(w.places, p), append(w.next, next)
		}
		w.room.clock.Forward(10 * time.Microsecond)
	}
	return w
}

// run lets time pass. Everybody asks one server or another when told to.
func (w *walk) run(d time.Duration) {
	for end := w.room.clock.Now().Add(d); w.room.clock.Now().Before(end); w.room.pass(time.Duration(20+w.dice.IntN(20)) * time.Millisecond) {
		now, first := w.room.clock.Now().UnixMilli(), w.dice.IntN(len(w.places))
		for i := range w.places {
			i = (i + first) % len(w.places)
			if w.next[i] < 0 || w.next[i] > now {
				continue
			}
			s := w.room.servers[w.dice.IntN(len(w.room.servers))]
			a, err := s.Poll(w.room.t.Context(), testZone, w.places[i])
			var told *LaterError
			switch {
			case outcome(a, err) == "admitted locally":
				w.next[i] = -1
				w.entered = append(w.entered, i)
			case errors.As(err, &told):
				w.next[i] = now + 1000*int64(told.RetryAfterSeconds()) + w.dice.Int64N(300)
			default:
				w.room.t.Fatal(outcome(a, err))
			}
		}
	}
}

// overtaken is how many later arrivals went in before one who did, of those who did: for so many of a hundred no more
// than that.
func (w *walk) overtaken(percent int) int {
	var all []int
	for k, i := range w.entered {
		n := 0
		for _, earlier := range w.entered[:k] {
			if earlier > i {
				n++
			}
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100]
}

// TestOrderInAnOutage: who asks when told to goes in about in the order of arrival, and most of what the servers may let
// in is admitted, though a third of the line does not come, and servers do not know whom the others let in.
func TestOrderInAnOutage(t *testing.T) {
	for _, tt := range []struct {
		servers   int
		perMinute int64
		silent    float64
		// used is the least use of the limit, in %; p99 the most that 99 of 100 may be overtaken by, in windows' worth.
		used, p99 int
	}{
		{1, 600, 0, 90, 5},
		{1, 600, 0.35, 80, 5},
		{2, 600, 0.35, 80, 10},
		{10, 600, 0.35, 80, 10},
		{2, 60, 0.35, 75, 10},
	} {
		t.Run(fmt.Sprintf("%d servers, %d a minute, %v silent", tt.servers, tt.perMinute, tt.silent), func(t *testing.T) {
			w := newWalk(t, tt.servers, tt.perMinute, tt.silent)
			w.room.cut(true)
			w.run(24 * time.Second)
			before := len(w.entered)
			w.run(3 * time.Minute)

			worth := int(window.Limit(tt.perMinute, 6000))
			used := (len(w.entered) - before) * 100 / int(3*tt.perMinute)
			p50, p99 := w.overtaken(50)*100/worth, w.overtaken(99)*100/worth
			t.Logf("%d in the first 24 s, then %d %%; overtaken by %d, %d, %d hundredths of a window", before, used, p50, p99, w.overtaken(100)*100/worth)
			if used < tt.used {
				t.Errorf("%d %% of what may be let in is used, want %d at least", used, tt.used)
			}
			if p99 > 100*tt.p99 {
				t.Errorf("overtaken by %d hundredths of a window's worth, want %d at most", p99, 100*tt.p99)
			}
		})
	}
}
