package simulate

import (
	"math/rand/v2"
	"time"
)

const (
	minDelay  = 5 * time.Millisecond
	maxDelay  = 100 * time.Millisecond
	meanDelay = (minDelay + maxDelay) / 2
)

// Delay draws how long a request takes on its way: 5 to 100 ms.
func Delay(rng *rand.Rand) time.Duration {
	return minDelay + time.Duration(rng.Int64N(int64(maxDelay-minDelay)))
}

// Event is a visitor's next request.
type Event struct {
	At int64 // microseconds
	V  int32 // the visitor
}

func (e Event) before(o Event) bool { return e.At < o.At || e.At == o.At && e.V < o.V }

// Events is a heap, the earliest first. It is not container/heap, which allocates for each
// of some millions of events: with it a run takes a tenth longer.
type Events []Event

// Init makes a heap of what was appended.
func (e Events) Init() {
	for i := len(e)/2 - 1; i >= 0; i-- {
		e.down(i)
	}
}

// Push adds an event.
func (e *Events) Push(x Event) {
	h := append(*e, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	*e = h
}

// Pop takes the earliest out. There must be one.
func (e *Events) Pop() Event {
	h := *e
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*e = h[:last]
	if last > 0 {
		e.down(0)
	}
	return first
}

func (e Events) down(i int) {
	x := e[i]
	for {
		child := 2*i + 1
		if child >= len(e) {
			break
		}
		if right := child + 1; right < len(e) && e[right].before(e[child]) {
			child = right
		}
		if !e[child].before(x) {
			break
		}
		e[i] = e[child]
		i = child
	}
	e[i] = x
}
