package challenge

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
)

// maxQueued is how many solutions wait for their derivation: less than half a second of one core.
const maxQueued = 1_024

// ErrBusy: more solutions came than can be checked. Nothing was done; the same solution can be shown again. Compare with errors.Is.
var ErrBusy = errors.New("challenge: busy")

// queue lets derivations have half of the cores, so that polls have the other half.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
}

func newQueue() queue { return queue{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))} }

// check derives one key. Who has to let others go first is turned away by a queue of an eighth. The error is ErrBusy or that of ctx.
func (q *queue) check(ctx context.Context, p *Parameters, counter uint32, othersFirst bool) (bool, error) {
	most := int64(maxQueued)
	if othersFirst {
		most /= 8
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > most {
		return false, ErrBusy
	}
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
		return p.derives(counter)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
