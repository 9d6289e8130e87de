package challenge

import (
	"context"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// maxQueued is how many solutions wait for their derivation: less than half a second of one core.
const maxQueued = 1_024

// ErrBusy: more solutions came than can be checked. Nothing was done; the same solution can be shown again. Compare with errors.Is.
var ErrBusy = refusal.New("challenge: busy", refusal.TooManyRequests.Saying(
	"More solutions came than can be checked. Send the same request again when Retry-After has passed."))

// queue lets derivations have half of the cores, so that polls have the other half.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// most is how many may wait before the next visitor is turned away: an eighth of them for a visitor with othersFirst.
func most(all int64, othersFirst bool) int64 {
	if othersFirst {
		return all / 8
	}
	return all
}

// check derives one key. The error is ErrBusy or that of ctx.
func (q *queue) check(ctx context.Context, p *Parameters, counter uint32, othersFirst bool) (bool, error) {
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > most(maxQueued, othersFirst) {
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
