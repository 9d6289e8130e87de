package fallback

import (
	"context"
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

// ledger has every admission there was: the store's, told or not, and those
// that servers made by themselves.
type ledger struct {
	mu    sync.Mutex
	store []int64
	local []int64
}

func (l *ledger) write(a line.Answer) {
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
func (l *ledger) over(span, most int64) (from, to int64, found bool) {
	all := slices.Concat(l.store, l.local)
	slices.Sort(all)
	for i := range len(all) - int(most) {
		if to := all[i+int(most)]; to-all[i] <= span {
			return all[i], to, true
		}
	}
	return 0, 0, false
}

// told is a link that writes down what the store does, and can be deaf: the
// call is worked on, and its answer lost.
type told struct {
	*link
	ledger *ledger
	deaf   bool
}

func (l *told) hear(a line.Answer, err error) (line.Answer, error) {
	if err != nil {
		return a, err
	}
	l.ledger.write(a)
	if l.deaf {
		return line.Answer{}, l.fails
	}
	return a, nil
}

func (l *told) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	return l.hear(l.link.Join(ctx, zoneID, id, former...))
}

func (l *told) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	return l.hear(l.link.Poll(ctx, zoneID, p))
}

func (l *told) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	if l.deaf {
		return line.Stats{}, l.fails
	}
	return l.link.Stats(ctx, zoneID)
}

// crowd is more visitors than the zone can take, at several servers.
type crowd struct {
	room   *room
	links  []*told
	ledger *ledger
	places []line.Place
}

func newCrowd(t testing.TB, servers int, s zone.Settings) *crowd {
	t.Helper()
	c := &crowd{room: newRoom(t, servers, s), ledger: &ledger{}}
	for _, one := range c.room.servers {
		l := &told{link: one.link, ledger: c.ledger}
		c.links = append(c.links, l)
		one.lines = l
	}
	return c
}

// rush has visitors ask a server until some are refused: those who wait, and
// newcomers, who come to stay as long as there is a store.
func (c *crowd) rush(s *server, dice *rand.Rand) {
	ctx := c.room.t.Context()
	for refused := 0; refused < 2; {
		var a line.Answer
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

// outage is one, in milliseconds from the start. Servers notice it one by one.
type outage struct{ from, to int64 }

// TestNeverOver: whatever the limits, the number of servers and the outages,
// and though answers are lost when one begins, the store and the servers
// together never exceed a limit: not before, during, after, or across.
func TestNeverOver(t *testing.T) {
	var runs, local int
	rapid.Check(t, func(rt *rapid.T) {
		s := admitting(rapid.Int64Range(1, 120).Draw(rt, "perMinute"))
		s.WindowSeconds = rapid.SampledFrom([]int64{1, 2, 5, 6, 7, 13, 30, 60}).Draw(rt, "window")
		s.MaxPerSecond = rapid.SampledFrom([]zone.PerSecond{zone.PerSecondAuto, zone.PerSecondNone, 4, 5}).Draw(rt, "per second")
		s.Burst = rapid.SampledFrom([]int64{0, 0, 0, 1, 10}).Draw(rt, "burst")
		servers := rapid.IntRange(1, 4).Draw(rt, "servers")
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var outages []outage
		end := int64(0)
		for range rapid.IntRange(1, 2).Draw(rt, "outages") {
			from := end + rapid.Int64Range(1000, 70_000).Draw(rt, "pause")
			end = from + rapid.Int64Range(0, 120_000).Draw(rt, "length")
			outages = append(outages, outage{from, end})
		}
		c := newCrowd(t, servers, s)
		c.run(outages, end+80_000, dice)

		r := window.RatesOf(s)
		if from, to, found := c.ledger.over(r.WindowMillis, r.Limit+s.Burst); found {
			rt.Fatalf("more than %d in a window: from %d to %d", r.Limit+s.Burst, from, to)
		}
		if from, to, found := c.ledger.over(window.MinuteMillis, r.PerMinute); found {
			rt.Fatalf("more than %d in a minute: from %d to %d", r.PerMinute, from, to)
		}
		// What the store admits itself, its own tests hold; in between nobody is let in for
		// a window.
		most := r.PerSecond
		if s.MaxPerSecond <= 0 {
			most += int64(servers) - 1
		}
		if c.ledger.store = nil; r.PerSecond < r.Limit {
			if from, to, found := c.ledger.over(window.SecondMillis, most); found {
				rt.Fatalf("more than %d in a second: from %d to %d", most, from, to)
			}
		}
		if runs++; len(c.ledger.local) > 0 {
			local++
		}
	})
	// It is one run in eight, 6 to 22 of a hundred.
	if local < 2 {
		t.Errorf("in %d of %d runs servers admitted by themselves: the test shows too little", local, runs)
	}
}

// run lets the crowd rush through the outages until end. Each server notices
// that the store is away, and back, up to 0.7 s late: with the period of the
// probes, within Apart. For 100 ms before, its answers are lost.
func (c *crowd) run(outages []outage, end int64, dice *rand.Rand) {
	start := c.room.clock.now()
	late := make([][2]int64, len(c.links))
	current := -1
	for at := int64(0); at < end; at = c.room.clock.now().Sub(start).Milliseconds() {
		i, _ := slices.BinarySearchFunc(outages, at, func(o outage, at int64) int { return int(o.to + 700 - at) })
		if i < len(outages) && i != current {
			current = i
			for j := range late {
				late[j] = [2]int64{dice.Int64N(700), dice.Int64N(700)}
			}
		}
		for j, l := range c.links {
			down, deaf := false, false
			if i < len(outages) {
				from, to := outages[i].from+late[j][0], outages[i].to+late[j][1]
				down, deaf = at >= from && at < to, at >= from-100 && at < to
			}
			l.down.Store(down)
			l.deaf = deaf
		}
		for _, j := range dice.Perm(len(c.links)) {
			c.rush(c.room.servers[j], dice)
		}
		c.room.pass(time.Duration(dice.Int64N(500)) * time.Millisecond)
	}
}

// TestNeverOverUnderLoad: the same with 64 visitors' calls at once, while the
// clock runs, and the store goes and comes.
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

	r := window.RatesOf(s)
	if from, to, found := c.ledger.over(r.WindowMillis, r.Limit); found {
		t.Errorf("more than %d in a window: from %d to %d", r.Limit, from, to)
	}
	if from, to, found := c.ledger.over(window.MinuteMillis, r.PerMinute); found {
		t.Errorf("more than %d in a minute: from %d to %d", r.PerMinute, from, to)
	}
	// 40 s of outage, of which the first 9 s and the last 6 s give nothing new.
	if n := len(c.ledger.local); n < 4*int(r.Limit) {
		t.Errorf("%d admitted locally, want at least 4 windows' worth", n)
	}
	// 30 s with the store, of which 8 s were held.
	if n := len(c.ledger.store); n < 3*int(r.Limit) {
		t.Errorf("%d admitted by the store, want at least 3 windows' worth", n)
	}
}

// turn polls one of the places at one of the servers, and repeats an admission
// at the same server: it must be the same. It returns the places that are left.
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
