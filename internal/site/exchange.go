package site

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/pass"
)

// PassesPolicy is the policy that counts how often a pass was exchanged: once. Without it,
// each server knows of the last seconds alone.
const PassesPolicy = "site-passes"

// tiers are how long a pass can be good, and so is remembered.
var tiers = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}

// shortest is the default tier: twice the usual life of a pass.
const shortest = 10 * time.Minute

// Policies returns the gate's policy as it is made when absent. A log of one is exact: no pass
// is good again before it has expired.
func Policies() []limit.Policy {
	once := func(d time.Duration) []limit.Rule {
		return []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 1, WindowSeconds: int64(d / time.Second)}}
	}
	p := limit.Policy{Name: PassesPolicy, Rules: once(shortest), Tiers: map[string][]limit.Rule{}, OnStoreFailure: limit.FailureLocal}
	for name, d := range tiers {
		p.Tiers[name] = once(d)
	}
	return []limit.Policy{p}
}

// tierOf is that of the pass's whole life, so that it is always the same one.
func tierOf(g pass.Grant) string {
	switch life := time.Duration(g.ExpiresAtMillis-g.AdmittedAtMillis) * time.Millisecond; {
	case life < shortest:
		return ""
	case life < time.Hour:
		return "hour"
	default:
		return "day"
	}
}

// first reports whether nobody has exchanged the pass before, on any server; or the same
// browser did a moment ago on this one, and may not have got the answer. What the store does
// not count in time, this server counts by itself.
func (s *Service) first(ctx context.Context, g pass.Grant, browser [sha256.Size]byte, now time.Time) (bool, error) {
	a, err := s.limits.Check(ctx, limiter.Question{Policy: PassesPolicy, Once: true, Key: "pass:" + g.Admission.String(), Tier: tierOf(g)})
	fresh := a.Allowed
	if err != nil {
		// A store that is slow costs nobody the turn, no more than one that is away.
		if fresh = errors.Is(err, limiter.ErrPolicyUnknown) || ctx.Err() != nil; !fresh {
			return false, err
		}
	}
	return s.recent.repeats(g.Admission, browser, now, fresh), nil
}

const (
	// repeatable is how long an exchange can be repeated by the same browser: while the gate
	// is slow, deploy/site/nginx.conf has it come again every 5 s.
	repeatable = 30 * time.Second
	// mostRepeats is how often it can be repeated: more often than a gateway and its browser do
	// in that time. Without a bound, one link would let in all browsers behind one address that
	// call themselves alike.
	mostRepeats = 10
	// maxRecent bounds how many exchanges are remembered for that.
	maxRecent = 20_000
)

// recent remembers the exchanges of the last seconds.
type recent struct {
	mu      sync.Mutex
	all     map[uuid.UUID]exchange
	cleared time.Time
}

type exchange struct {
	browser [sha256.Size]byte
	at      time.Time
	repeats int
}

// repeats reports whether this exchange may be made. fresh says that it is the first as far
// as others know.
func (r *recent) repeats(id uuid.UUID, browser [sha256.Size]byte, now time.Time, fresh bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.all[id]
	if known && now.Sub(was.at) < repeatable {
		if was.browser != browser || was.repeats == mostRepeats {
			return false
		}
		was.repeats++
		r.all[id] = was
		return true
	}
	if !fresh {
		return false
	}
	if now.Sub(r.cleared) >= repeatable || r.all == nil {
		r.cleared = now
		young := make(map[uuid.UUID]exchange)
		for id, e := range r.all {
			if now.Sub(e.at) < repeatable {
				young[id] = e
			}
		}
		r.all = young
	}
	if len(r.all) < maxRecent {
		r.all[id] = exchange{browser: browser, at: now}
	}
	return true
}
