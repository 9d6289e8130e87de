package limiter

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/background"
)

const (
	// ProbeEvery is the time between two probes of a store that failed.
	ProbeEvery = 250 * time.Millisecond
	// successes is how many probes in a row must be answered before the store counts as back: a store that is starting, or
	// behind a bad network, answers some.
	successes = 3
	// longWait is how many milliseconds a request must have waited to count as a failure of the
	// store if its sender gave up. It is less than any of our callers waits.
	longWait = 200
	// probeWithin bounds a probe, in case the store does not.
	probeWithin = time.Second
)

// probeRules are the rules of a probe. No policy can have their window, so a probe in the slot
// of a client takes nothing from that client.
var probeRules = []limit.Rule{{
	Algorithm: limit.TokenBucket, Limit: limit.MaxLimit, WindowSeconds: limit.MaxWindowSeconds + 1,
}}

// partition says whether the store answers for the keys of one partition.
type partition struct {
	number int
	// failing says that its questions are answered by failure policies. probing: a probe is under way.
	failing, probing atomic.Bool

	mu sync.Mutex
	// failed is a probe in the slot of the latest request that failed.
	failed limit.Request
	// answered is how many probes in a row were answered.
	answered int
	since    time.Time
}

func (l *Limiter) partition(r limit.Request) *partition {
	return &l.partitions[l.deps.Store.Partition(r)%limit.Partitions]
}

// failed notes that a request failed. From then on failure policies answer for the partition.
func (l *Limiter) failed(at *partition, r limit.Request, err error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	r.Rules, r.Cost = probeRules, 1
	at.failed, at.answered = r, 0
	if at.failing.Load() {
		return
	}
	at.since = l.deps.Now()
	at.failing.Store(true)
	l.deps.Meter.Failing(at.number, true)
	l.deps.Logger.Warn("limits: the store does not answer; the policies say what happens meanwhile",
		"partition", at.number, "policy", r.Policy, "err", err)
}

// Failing returns for how many partitions the failure policies answer now.
func (l *Limiter) Failing() int {
	n := 0
	for i := range l.partitions {
		if l.partitions[i].failing.Load() {
			n++
		}
	}
	return n
}

// Start begins to probe partitions that fail, and to note what happens each second, until
// Stop. It must be called at most once.
func (l *Limiter) Start(ctx context.Context) {
	l.background.Start(ctx,
		background.Every(ProbeEvery, l.probeAll),
		background.Every(time.Second, func(context.Context) { l.note() }))
}

// Stop ends what Start began, and waits for it. A Limiter that was not started need not be
// stopped.
func (l *Limiter) Stop() { l.background.Stop() }

// probeAll begins a probe of each partition that fails, unless one is under way. Partitions do not
// wait for one another: each may be on another node.
func (l *Limiter) probeAll(ctx context.Context) {
	for i := range l.partitions {
		if at := &l.partitions[i]; at.failing.Load() {
			l.background.GoAlone(&at.probing, func() { l.probe(ctx, at) })
		}
	}
}

// probe asks the store once. After enough answers in a row the partition is calm.
func (l *Limiter) probe(ctx context.Context, at *partition) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	at.mu.Lock()
	r := at.failed
	at.mu.Unlock()
	_, err := l.deps.Store.Allow(ctx, r)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.answered++; err != nil {
		at.answered = 0
	}
	if at.answered < successes {
		return
	}
	at.failing.Store(false)
	l.deps.Meter.Failing(at.number, false)
	l.deps.Logger.Info("limits: the store answers again", "partition", at.number, "away", l.deps.Now().Sub(at.since))
}
