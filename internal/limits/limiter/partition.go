package limiter

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/background"
)

const (
	// ProbeEvery is how often a store that failed is asked whether it is back.
	ProbeEvery = 250 * time.Millisecond
	// successes in a row, without which it is not believed: a store that is
	// starting, or a network that flaps, answers now and then.
	successes = 3
	// longWait is for how many milliseconds a request must have waited for the
	// store to be to blame when its sender gave up. After less, we ask the store ourselves.
	longWait = 200
	// probeWithin bounds a probe, should the store not.
	probeWithin = time.Second
	// subjects are how many are tried to find one in each partition: of 16, a thousand
	// miss none but once in 10^27.
	subjects = 1000
	// ownName is the policy and the tier of questions of our own: no policy can be
	// called so.
	ownName = "~"
)

// probeRules are a probe's own. No policy can have the window, so that what a probe
// takes, in the slot of a client, is not taken from the client.
var probeRules = []limit.Rule{{
	Algorithm: limit.TokenBucket, Limit: limit.MaxLimit, WindowSeconds: limit.MaxWindowSeconds + 1,
}}

// partition is how the store answers some of the keys.
type partition struct {
	number int
	// failing: its questions are answered by their policies.
	failing atomic.Bool

	mu sync.Mutex
	// failed is the latest request that did, or that made doubtful whether the store answers.
	failed   limit.Request
	doubtful bool
	// answered is how many probes have been, in a row.
	answered int
	probing  bool
	since    time.Time
}

func (l *Limiter) partition(r limit.Request) *partition {
	return &l.partitions[l.deps.Store.Partition(r)%limit.Partitions]
}

// failed makes the questions of a partition go to their policies.
func (l *Limiter) failed(at *partition, r limit.Request, err error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.failed, at.answered = probeOf(r), 0
	if at.failing.Load() {
		return
	}
	at.since = l.deps.Now()
	at.failing.Store(true)
	l.deps.Meter.Failing(at.number, true)
	l.deps.Logger.Warn("limits: the store does not answer; the policies say what happens meanwhile",
		"partition", at.number, "policy", r.Policy, "err", err)
	select {
	case l.suspects <- struct{}{}:
	default: // all are looked at already
	}
}

// doubt has the partition asked soon whether the store answers: a request was given up by a
// sender who may have been in a hurry.
func (at *partition) doubt(r limit.Request) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if !at.failing.Load() {
		at.failed, at.doubtful = probeOf(r), true
	}
}

// probeOf is a question of our own, in the slot of the request.
func probeOf(r limit.Request) limit.Request {
	r.Rules, r.Cost, r.Look = probeRules, 1, false
	return r
}

// Failing returns how many partitions are answered by their policies now.
func (l *Limiter) Failing() int {
	n := 0
	for i := range l.partitions {
		if l.partitions[i].failing.Load() {
			n++
		}
	}
	return n
}

// Start begins to ask a store that failed whether it is back, and to note what
// happens each second, until Stop. To be called once.
func (l *Limiter) Start(ctx context.Context) {
	l.background.Start(ctx,
		background.Every(ProbeEvery, l.probeAll),
		background.Every(time.Second, func(context.Context) { l.note() }),
		l.suspect)
}

// Stop ends that and waits for it. A Limiter that was not started need not be
// stopped.
func (l *Limiter) Stop() { l.background.Stop() }

// suspect looks at all partitions whenever one has begun to fail.
func (l *Limiter) suspect(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.suspects:
			l.probeCalm(ctx)
		}
	}
}

// probeAll begins one probe of each partition that fails or is in doubt, and has none under
// way. Partitions do not wait for one another: each may lie on another node.
func (l *Limiter) probeAll(ctx context.Context) {
	for i := range l.partitions {
		at := &l.partitions[i]
		at.mu.Lock()
		ask, r := !at.probing && (at.doubtful || at.failing.Load()), at.failed
		at.probing, at.doubtful = at.probing || ask, at.doubtful && !ask
		at.mu.Unlock()
		if ask {
			l.background.Go(func() { l.probe(ctx, at, r) })
		}
	}
}

// probeCalm asks each partition that is calm once. Where one partition fails, others may, and
// it is better that we wait for a store that hangs than that each partition's next
// client does.
func (l *Limiter) probeCalm(ctx context.Context) {
	found := make(map[int]bool)
	for n := range subjects {
		r := limit.Request{Policy: ownName, Tier: ownName, Subject: strconv.Itoa(n), Rules: probeRules, Cost: 1}
		at := l.partition(r)
		if found[at.number] {
			continue
		}
		found[at.number] = true
		at.mu.Lock()
		ask := !at.probing && !at.failing.Load()
		at.probing = at.probing || ask
		at.mu.Unlock()
		if ask {
			l.background.Go(func() { l.probe(ctx, at, r) })
		}
	}
}

func (l *Limiter) probe(ctx context.Context, at *partition, r limit.Request) {
	bounded, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	_, err := l.deps.Store.Allow(bounded, r)
	at.mu.Lock()
	at.probing = false
	calm := !at.failing.Load()
	at.mu.Unlock()
	if err != nil && ctx.Err() == nil && calm {
		l.failed(at, r, err)
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case err != nil:
		at.answered = 0
		return
	case calm:
		return
	}
	if at.answered++; at.answered < successes {
		return
	}
	at.answered = 0
	at.failing.Store(false)
	l.deps.Meter.Failing(at.number, false)
	l.deps.Logger.Info("limits: the store answers again", "partition", at.number, "away", l.deps.Now().Sub(at.since))
}
