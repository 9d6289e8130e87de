package challenge

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// maxQueued is how many solutions wait for their derivation in each of the two lanes: less than half a second of one core.
const maxQueued = 512

// ErrBusy: more solutions came than can be checked. Nothing was done; the same solution can be shown again. Compare with errors.Is.
var ErrBusy = errors.New("challenge: busy")

// job is a solution that is to be checked.
type job struct {
	ctx     context.Context
	work    *Parameters
	counter uint32
	right   bool
	err     error
	done    chan struct{}
}

// queue derives keys on half of the cores, so that derivations leave the other half to polls. Addresses that ask for much have to let others go first.
type queue struct {
	first, later chan *job
	stop         chan struct{}
	workers      sync.WaitGroup
}

func newQueue() *queue {
	q := &queue{first: make(chan *job, maxQueued), later: make(chan *job, maxQueued), stop: make(chan struct{})}
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		q.workers.Go(q.work)
	}
	return q
}

func (q *queue) work() {
	for {
		var j *job
		select {
		case j = <-q.first:
		default:
			select {
			case j = <-q.first:
			case j = <-q.later:
			case <-q.stop:
				return
			}
		}
		if j.err = j.ctx.Err(); j.err == nil {
			j.right, j.err = j.work.derives(j.counter)
		}
		close(j.done)
	}
}

// check derives one key. The error is ErrBusy or that of ctx.
func (q *queue) check(ctx context.Context, p *Parameters, counter uint32, later bool) (bool, error) {
	lane := q.first
	if later {
		lane = q.later
	}
	j := &job{ctx: ctx, work: p, counter: counter, done: make(chan struct{})}
	select {
	case lane <- j:
	default:
		return false, ErrBusy
	}
	select {
	case <-j.done:
		return j.right, j.err
	case <-ctx.Done():
		return false, ctx.Err()
	case <-q.stop:
		return false, ErrBusy
	}
}
