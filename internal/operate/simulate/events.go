package simulate

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
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

// State is where a visitor is.
type State uint8

// The states. Who is Left went away silently, who is Lost was refused or swept.
const (
	Coming State = iota
	Waiting
	Inside
	Left
	Lost
)

// SweepEvery is how often a server sweeps.
const SweepEvery = 30 * time.Second

// Sweep removes those of a zone who are silent.
func Sweep(ctx context.Context, s store.Sweeper, zoneID string) error {
	for cursor := uint64(0); ; {
		out, err := s.Sweep(ctx, zoneID, "", cursor)
		if cursor = out.Next; err != nil || cursor == 0 {
			return err
		}
	}
}

// Event is a visitor's next request.
type Event struct {
	At int64 // microseconds
	V  int32 // the visitor
}

// Events is a heap, the earliest first: see container/heap. Push and Pop allocate, Follow, of which
// a run has some millions, does not.
type Events []Event

// Len implements heap.Interface.
func (e Events) Len() int { return len(e) }

// Less implements heap.Interface.
func (e Events) Less(i, j int) bool {
	return e[i].At < e[j].At || e[i].At == e[j].At && e[i].V < e[j].V
}

// Swap implements heap.Interface.
func (e Events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *Events) Push(x any) {
	one, _ := x.(Event)
	*e = append(*e, one)
}

// Pop implements heap.Interface.
func (e *Events) Pop() (last any) {
	*e, last = (*e)[:len(*e)-1], (*e)[len(*e)-1]
	return last
}

// Follow puts the next request of the earliest event's visitor in its place; 0 is for one who makes none.
func (e *Events) Follow(at int64) {
	if at == 0 {
		heap.Pop(e)
		return
	}
	(*e)[0].At = at
	heap.Fix(e, 0)
}
