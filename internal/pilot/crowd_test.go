package pilot_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// small is a site that answers four requests at a time, each in 20 ms on average, with a crowd before it, request by request in virtual
// time. Each visitor asks once a second, so that it bears some 200 visitors.
type small struct {
	rng    *rand.Rand
	now    time.Duration
	events events
	// busy requests are answered, queue are those that wait.
	busy  int
	queue []func()
	// seconds are the answers of each second, and how many of them were slow.
	seconds [][2]int
	tally   pilot.Tally
}

type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any) {
	if one, ok := x.(event); ok {
		*e = append(*e, one)
	}
}
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

const smallBound = 250 * time.Millisecond

func (s *small) after(d time.Duration, do func()) { heap.Push(&s.events, event{s.now + d, do}) }

// serve begins answers.
func (s *small) serve() {
	for ; s.busy < 4 && len(s.queue) > 0; s.busy++ {
		answer := s.queue[0]
		s.queue = s.queue[1:]
		s.after(time.Duration(20*float64(time.Millisecond)*s.rng.ExpFloat64()), func() { s.busy--; answer(); s.serve() })
	}
}

// visits has a visitor ask for pages until a time, and then go.
func (s *small) visits(session [16]byte, until time.Duration, gone func()) {
	asked := s.now
	s.queue = append(s.queue, func() {
		took, second := s.now-asked, &s.seconds[int(s.now.Seconds())]
		if second[0]++; took > smallBound {
			second[1]++
		}
		s.tally.Add(session, took, false)
		if s.now > until {
			gone()
			return
		}
		s.after(time.Duration(800+s.rng.IntN(400))*time.Millisecond, func() { s.visits(session, until, gone) })
	})
	s.serve()
}

// play has visitors come for half an hour, and judges it from the second minute on.
func (s *small) play(stay time.Duration) (within, used float64) {
	const span, from = 30 * 60, 2 * 60
	s.seconds = make([][2]int, span+1)
	bounds := zone.Settings{PilotMin: 40, PilotMax: 420, PilotP95Millis: smallBound.Milliseconds(), PilotErrorPercent: 2}
	inside, limit, n := int64(0), int64(420), uint16(0)
	var looks []pilot.Sight
	var last pilot.Step
	var comes, look func()
	comes = func() {
		if inside < limit {
			inside++
			n++
			s.visits([16]byte{byte(n), byte(n >> 8)}, s.now+time.Duration(float64(stay)*s.rng.ExpFloat64()), func() { inside-- })
		}
		s.after(max(25*time.Millisecond, stay/800), comes) // four times too many
	}
	look = func() {
		one, ok := s.tally.Take(s.now.Milliseconds()).Seen()
		s.after(pilot.Every, look)
		s.after(2*time.Second, func() { // as package steer does
			if !ok {
				return
			}
			one.Inside = inside
			looks = append(looks, one)
			if step, ok := pilot.Decide(&bounds, last, limit, looks, 0, s.now.Milliseconds()); ok {
				last, limit = step, step.To
			}
		})
	}
	comes()
	s.after(pilot.Every, look)
	for s.now < span*time.Second {
		e := s.events[0]
		heap.Pop(&s.events)
		s.now = e.at
		e.do()
	}
	for _, second := range s.seconds[from:span] {
		if second[1]*20 <= second[0] {
			within++
		}
		used += float64(second[0])
	}
	return within / (span - from), used / (span - from) / 200
}

// TestSmallSite: a site whose queue moves much more than a model of means says is within its bound for 95 % of the seconds, too.
func TestSmallSite(t *testing.T) {
	t.Parallel()
	for _, stay := range []time.Duration{75 * time.Second, 4 * time.Minute} {
		s := small{rng: rand.New(rand.NewPCG(1, 1))}
		within, used := s.play(stay)
		t.Logf("stays of %v: in bound %.3f of the time, %.3f of the best", stay, within, used)
		if within < 0.95 || used < 0.85 {
			t.Errorf("stays of %v: in bound %.3f of the time, %.3f of the best", stay, within, used)
		}
	}
}
