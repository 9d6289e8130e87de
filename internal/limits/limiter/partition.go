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
	// ProbeEvery is the time between two probes of a store that failed.
	ProbeEvery = 250 * time.Millisecond
	// successes is how many answers in a row it takes to believe that the store is back: one
	// that is starting, or behind a bad network, answers now and then.
	successes = 3
	// longWait is how many milliseconds a request must have waited to count as a failure of the
	// store if its sender gave up. After a shorter wait, a probe finds out.
	longWait = 200
	// probeWithin bounds a probe, in case the store does not.
	probeWithin = time.Second
	// subjects is how many subjects are tried to find one in each partition: with 16 partitions, a
	// thousand miss one of them once in 10^27 times.
	subjects = 1000
	// ownName is the policy and the tier of probes that no request caused. No policy can have
	// that name.
	ownName = "~"
)

// probeRules are the rules of a probe. No policy can have their window, so a probe in the slot
// of a client takes nothing from that client.
var probeRules = []limit.Rule{{
	Algorithm: limit.TokenBucket, Limit: limit.MaxLimit, WindowSeconds: limit.MaxWindowSeconds + 1,
}}

// partition says whether the store answers for the keys of one partition.
type partition struct {
	number int
	// failing says that its questions are answered by failure policies.
	failing atomic.Bool

	mu sync.Mutex
	// failed is a probe in the slot of the latest request that failed or was given up. doubtful
	// says that it was given up, so that the next round of probes includes it.
	failed   limit.Request
	doubtful bool
	// answered is how many probes in a row were answered.
	answered int
	probing  bool
	since    time.Time
}

func (l *Limiter) partition(r limit.Request) *partition {
	return &l.partitions[l.deps.Store.Partition(r)%limit.Partitions]
}

// failed notes that a request failed. From then on failure policies answer for the partition.
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
	default: // the other partitions will be probed already
	}
}

// doubt makes the next round of probes ask whether the store answers: a sender, who may have
// been in a hurry, has given a request up.
func (at *partition) doubt(r limit.Request) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if !at.failing.Load() {
		at.failed, at.doubtful = probeOf(r), true
	}
}

// probeOf returns a probe in the slot of the request.
func probeOf(r limit.Request) limit.Request {
	r.Rules, r.Cost, r.Look = probeRules, 1, false
	return r
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
		background.Every(time.Second, func(context.Context) { l.note() }),
		l.suspect)
}

// Stop ends what Start began, and waits for it. A Limiter that was not started need not be
// stopped.
func (l *Limiter) Stop() { l.background.Stop() }

// suspect probes all calm partitions whenever one has begun to fail.
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

// probeAll begins a probe of each partition that fails or is in doubt, unless one is under way.
// Partitions do not wait for one another: each may be on another node.
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

// probeCalm probes each partition that is calm once. If one partition fails, others may, too. If
// the store hangs, it is better that a probe waits for it than the next client of each
// partition.
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
