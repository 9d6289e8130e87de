package fallback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// walker is a visitor who lives through an outage.
type walker struct {
	place line.Place
	// next is when it asks next, in milliseconds; never, if negative.
	next int64
}

// walk is a line of eight minutes' worth of visitors, of whom some fell silent before
// the store went away, and some give up after that.
type walk struct {
	room    *room
	dice    *rand.Rand
	crowd   []walker
	leaving float64
	// entered are those who went in, in that order.
	entered []int
}

func newWalk(t *testing.T, servers int, perMinute int64, silent, leaving float64) *walk {
	t.Helper()
	w := &walk{room: newRoom(t, servers, admitting(perMinute)), dice: rand.New(rand.NewPCG(1, 2)), leaving: leaving}
	for i := range int(8 * perMinute) {
		for _, p := range w.room.join(w.room.servers[i%servers], 1) {
			// The store told everybody to come within the longest period.
			next := w.room.clock.now().UnixMilli() + w.dice.Int64N(window.FarPeriodMillis)
			if w.dice.Float64() < silent {
				next = -1
			}
			w.crowd = append(w.crowd, walker{p, next})
		}
		w.room.clock.advance(10 * time.Microsecond)
	}
	return w
}

// run lets time pass. Everybody asks one server or another when told to.
func (w *walk) run(d time.Duration) {
	const step = 100 * time.Millisecond
	for range d / step {
		now := w.room.clock.now().UnixMilli()
		for _, i := range w.dice.Perm(len(w.crowd)) {
			one := &w.crowd[i]
			if one.next < 0 || one.next > now {
				continue
			}
			s := w.room.servers[w.dice.IntN(len(w.room.servers))]
			a, err := s.Poll(w.room.t.Context(), testZone, one.place)
			switch word := outcome(a, err); word {
			case "admitted locally":
				one.next = -1
				w.entered = append(w.entered, i)
			case "held":
				var told *LaterError
				if !errors.As(err, &told) {
					w.room.t.Fatal("not told when to come back: ", err)
				}
				one.next = now + 1000*int64(told.RetryAfterSeconds()) + w.dice.Int64N(300)
				if w.dice.Float64() < w.leaving {
					one.next = -1
				}
			default:
				w.room.t.Fatal(word)
			}
		}
		w.room.pass(step)
	}
}

// overtaken is how many later arrivals went in before one who did, of those who did:
// for so many of a hundred no more than that.
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

// TestOrderInAnOutage: who asks when told to goes in about in the order of arrival,
// and nearly all that the servers may let in is let in, though a third of the line
// does not come, others give up, and servers do not know whom the others let in. A
// zone's first 24 s are those of the released; the figures of use are of the time after.
func TestOrderInAnOutage(t *testing.T) {
	for _, tt := range []struct {
		servers         int
		perMinute       int64
		silent, leaving float64
		// used is the least use of what may be let in, in %; p99 and most are the most
		// that one may be overtaken by, in hundredths of a window's worth.
		used, p99, most int
	}{
		{1, 600, 0, 0, 90, 175, 300},
		{1, 600, 0.35, 0.005, 90, 175, 300},
		{2, 600, 0.35, 0, 90, 175, 300},
		{2, 600, 0.35, 0.005, 90, 175, 300},
		{4, 600, 0.35, 0, 85, 225, 400},
		{10, 600, 0.35, 0, 85, 400, 800},
		{2, 60, 0.35, 0, 78, 250, 350},
	} {
		t.Run(fmt.Sprintf("%d servers, %d a minute, %v silent, %v leaving", tt.servers, tt.perMinute, tt.silent, tt.leaving), func(t *testing.T) {
			w := newWalk(t, tt.servers, tt.perMinute, tt.silent, tt.leaving)
			w.room.cut(true)
			w.run(24 * time.Second)
			before := len(w.entered)
			w.run(3 * time.Minute)

			worth := int(window.Limit(tt.perMinute, 6000))
			used := (len(w.entered) - before) * 100 / int(3*tt.perMinute)
			p99, most := w.overtaken(99)*100/worth, w.overtaken(100)*100/worth
			t.Logf("%d in the first 24 s, then %d %%; overtaken by %d, %d, %d hundredths of a window", before, used, w.overtaken(50)*100/worth, p99, most)
			if used < tt.used {
				t.Errorf("%d %% of what may be let in is used, want %d at least", used, tt.used)
			}
			if p99 > tt.p99 || most > tt.most {
				t.Errorf("overtaken by %d hundredths of a window's worth, one by %d; want %d and %d at most", p99, most, tt.p99, tt.most)
			}
		})
	}
}

// TestTheReleasedGoFirst: until everybody who waits must have asked, nobody from beyond
// the edge enters, whoever asks and however much room there is.
func TestTheReleasedGoFirst(t *testing.T) {
	w := newWalk(t, 1, 60, 0, 0)
	w.room.cut(true)
	edge := w.room.servers[0].link.Memory(testZone).EdgeMicros
	last := w.crowd[len(w.crowd)-1].place
	if edge == 0 || edge >= last.ArrivedAtMicros {
		t.Fatalf("the edge is at %d of %d", edge, last.ArrivedAtMicros)
	}
	for range 4 * 24 {
		w.room.poll(w.room.servers[0], last, "held")
		w.room.pass(ProbeEvery)
	}
	w.room.poll(w.room.servers[0], last, "admitted locally") // nobody else has asked
}

// TestWhoHasNoPlaceGetsNoPass: the token of one who left, was let in or had fallen
// silent, or of other data, brings nothing while the store is away, whatever room there
// is; nor does its holder stand in the way of newcomers.
func TestWhoHasNoPlaceGetsNoPass(t *testing.T) {
	idle := zone.Defaults(testZone).IdleTimeout().Milliseconds()
	for _, tt := range []struct {
		name string
		end  func(r *room, p *line.Place)
		want string
	}{
		{"nothing happened", func(*room, *line.Place) {}, "admitted locally"},
		{"left", func(r *room, p *line.Place) {
			if err := r.servers[0].Leave(r.t.Context(), testZone, *p); err != nil {
				r.t.Error(err)
			}
		}, "gone locally"},
		{"let in, the pass is good", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			*p = r.poll(r.servers[0], *p, "admitted").Place
		}, "held"},
		{"let in, by an older token", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			r.poll(r.servers[0], *p, "admitted")
		}, "held"},
		{"let in, the pass has expired", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			r.poll(r.servers[0], *p, "admitted")
			r.pass(5 * time.Minute)
		}, "gone locally"},
		{"in time", func(r *room, p *line.Place) {
			p.DueMillis = r.clock.now().UnixMilli() - idle + 1000
		}, "admitted locally"},
		{"silent", func(r *room, p *line.Place) {
			p.DueMillis = r.clock.now().UnixMilli() - idle + 999
		}, "held"},
		{"of other data", func(_ *room, p *line.Place) { p.Epoch++ }, "held"},
		{"of version 1", func(_ *room, p *line.Place) { p.Epoch, p.DueMillis = 0, 0 }, "held"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, 1, admitting(60))
			s := r.servers[0]
			p := r.join(s, 7)[0]
			tt.end(r, &p)
			r.cut(true)
			if _, err := s.Poll(t.Context(), testZone, p); outcome(line.Answer{}, err) != "held" {
				t.Fatalf("poll: %v", err)
			}
			r.pass(AwayAfter + 7*time.Second)
			r.poll(s, p, tt.want)
			for range 4 * 20 {
				r.pass(ProbeEvery)
				if tt.want == "held" {
					r.poll(s, p, "held")
				}
			}
			if a, err := s.Join(t.Context(), testZone, r.newID()); outcome(a, err) != "admitted locally" {
				t.Errorf("a newcomer is %s", outcome(a, err))
			}
		})
	}
}

// TestAPassHolderJoinsAgain: the store knows the pass, so it has to say; one who left
// begins anew.
func TestAPassHolderJoinsAgain(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	in, err := s.Join(t.Context(), testZone, r.newID())
	if err != nil || in.Status != line.Admitted {
		t.Fatalf("%+v, %v", in, err)
	}
	left := r.join(s, 7)[0]
	if err := s.Leave(t.Context(), testZone, left); err != nil {
		t.Fatal(err)
	}
	r.cut(true)
	for _, want := range []string{"held", "admitted locally"} {
		for id, want := range map[line.ID]string{in.Place.ID: "held", left.ID: want} {
			a, err := s.Join(t.Context(), testZone, r.newID(), id)
			if outcome(a, err) != want {
				t.Errorf("joined again: %s, want %s", outcome(a, err), want)
			}
		}
		r.pass(AwayAfter + 7*time.Second)
	}
}

// TestALineOfVersion1IsBelieved, for its tokens do not say how fresh they are.
func TestALineOfVersion1IsBelieved(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	p := r.join(s, 7)[0]
	r.cut(true)
	s.link.memory.Epoch, p.Epoch, p.DueMillis = 0, 0, 0
	r.poll(s, p, "held")
	r.pass(AwayAfter + 7*time.Second)
	r.poll(s, p, "admitted locally")
}

func TestAskersAreBounded(t *testing.T) {
	var a askers
	id := func(i int) line.ID { return line.ID{byte(i), byte(i >> 8), byte(i >> 16)} }
	for i := range maxAskers + 10 {
		a.hear(line.Place{ID: id(i), ArrivedAtMicros: int64(i + 1)}, int64(i))
	}
	if len(a.all) != maxAskers || len(a.index) != maxAskers {
		t.Fatalf("%d are remembered, %d found; want %d", len(a.all), len(a.index), maxAskers)
	}
	a.enter(line.Place{ID: id(maxAskers - 2)})
	a.look(maxAskers-100, 5, window.Rates{Limit: 8})
	if len(a.all) != 99 || len(a.index) != 99 || a.reach != maxAskers-99+4 {
		t.Errorf("%d are remembered, %d found, the reach is %d", len(a.all), len(a.index), a.reach)
	}
	for i, one := range a.all {
		if a.index[one.id] != i {
			t.Fatalf("the %d-th is found at %d", i, a.index[one.id])
		}
	}
}

func TestSmallest(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		all := make([]int64, 1+dice.IntN(50))
		for i := range all {
			all[i] = dice.Int64N(30)
		}
		sorted := slices.Sorted(slices.Values(all))
		n := 1 + dice.IntN(len(all))
		if got := smallest(all, n); got != sorted[n-1] {
			t.Fatalf("the %d-th of %v is not %d", n, sorted, got)
		}
	}
}

// BenchmarkLook is of the most that are remembered.
func BenchmarkLook(b *testing.B) {
	var a askers
	dice := rand.New(rand.NewPCG(5, 6))
	for i := range maxAskers {
		a.hear(line.Place{ID: line.ID{byte(i), byte(i >> 8), byte(i >> 16)}, ArrivedAtMicros: dice.Int64()}, 1)
	}
	for b.Loop() {
		a.look(0, 100, window.Rates{Limit: 500})
	}
}
