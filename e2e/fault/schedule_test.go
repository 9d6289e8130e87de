package fault

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// atATime is how many visitors of a zone may be asking at a time. A client
// gives up after a few seconds; a server that hangs answers a refusal in half
// of one: more than this wait only where nothing is answered at all.
const atATime = 512

// schedule has visitors come when they are due: one timer for all of them, and
// a goroutine for each that is asking.
type schedule struct {
	wake chan struct{}

	mu  sync.Mutex
	due dueHeap
}

func newSchedule() *schedule { return &schedule{wake: make(chan struct{}, 1)} }

// put has a visitor come at a time.
func (s *schedule) put(v *visitor, at time.Time) {
	s.mu.Lock()
	heap.Push(&s.due, appointment{v, at})
	first := s.due[0].v == v
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default: // it wakes already
		}
	}
}

// next takes the visitor out who is due; or tells how long until one is.
func (s *schedule) next(now time.Time) (v *visitor, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const long = time.Minute // put wakes
	if len(s.due) == 0 {
		return nil, long
	}
	if wait := s.due[0].at.Sub(now); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&s.due).(appointment).v, 0
}

// run has visit called for each who is due, until the end, and returns when all
// of the calls have.
func (s *schedule) run(ctx context.Context, visit func(*visitor)) {
	var asking sync.WaitGroup
	defer asking.Wait()
	free := make(chan struct{}, atATime)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		v, wait := s.next(time.Now())
		if v == nil {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			case <-s.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case free <- struct{}{}:
		}
		asking.Go(func() {
			defer func() { <-free }()
			visit(v)
		})
	}
}

// appointment is when a visitor comes.
type appointment struct {
	v  *visitor
	at time.Time
}

// dueHeap has the next first.
type dueHeap []appointment

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(appointment)) }
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = appointment{}
	*h = (*h)[:last]
	return a
}
