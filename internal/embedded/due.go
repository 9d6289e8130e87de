package embedded

import (
	"bytes"
	"container/heap"

	"github.com/openqueue/waitingroom/internal/line"
)

// appointment is when a live released visitor is expected.
type appointment struct {
	due   int64
	place line.Place
}

// appointments is a heap, the earliest first. An entry is stale when its
// visitor has another appointment by now, or none; stale ones are dropped when
// they come to the top.
type appointments []appointment

func (a appointments) Len() int { return len(a) }
func (a appointments) Less(i, j int) bool {
	if a[i].due != a[j].due {
		return a[i].due < a[j].due
	}
	return bytes.Compare(a[i].place.ID[:], a[j].place.ID[:]) < 0
}
func (a appointments) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *appointments) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *appointments) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

func (a *appointments) put(due int64, p line.Place) { heap.Push(a, appointment{due, p}) }

// late pops the earliest appointment before the time.
func (a *appointments) late(before int64) (appointment, bool) {
	if len(*a) == 0 || (*a)[0].due >= before {
		return appointment{}, false
	}
	return heap.Pop(a).(appointment), true
}
