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

// PassesPolicy is the policy that lets a pass be exchanged once. Without it, each server knows
// only of its own exchanges of the last 30 s.
const PassesPolicy = "site-passes"

// tiers are the tiers of PassesPolicy besides the default, and for how long each remembers a pass.
var tiers = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour}

// shortest is for how long the default tier remembers a pass: twice the usual life of a pass.
const shortest = 10 * time.Minute

// Policies returns PassesPolicy as it is made when absent. A sliding log is exact, so no pass can
// be exchanged again before it has expired.
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

// tierOf returns the tier that remembers a pass for its whole life, not for what is left of it. So all
// exchanges of one pass are counted in one tier.
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

// first reports whether this exchange of the pass may be made: nobody has exchanged it before on
// any server, or the same browser did less than repeatable ago on this server, and may not have
// got the answer. If the store does not answer in time, this server's own count decides.
func (s *Service) first(ctx context.Context, g pass.Grant, browser [sha256.Size]byte, now time.Time) (bool, error) {
	a, err := s.Limits.Check(ctx, limiter.Question{Policy: PassesPolicy, Once: true, Key: "pass:" + g.Admission.String(), Tier: tierOf(g)})
	fresh := a.Allowed
	if err != nil {
		// A slow store must not cost the visitor the turn, nor must one that is away.
		if fresh = errors.Is(err, limiter.ErrPolicyUnknown) || ctx.Err() != nil; !fresh {
			return false, err
		}
	}
	return s.recent.repeats(g.Admission, browser, now, fresh), nil
}

const (
	// repeatable is for how long the same browser can repeat an exchange. While the gate is slow,
	// deploy/site/nginx.conf makes the browser come again every 5 s.
	repeatable = 30 * time.Second
	// mostRepeats is how often the browser can repeat it: more often than a gateway and a browser
	// do in that time. Without a bound, one link would let in all browsers behind one address that
	// have the same User-Agent.
	mostRepeats = 10
	// maxRecent bounds how many exchanges a server remembers for repeats.
	maxRecent = 20_000
)

// recent remembers this server's exchanges of the last seconds: for repeatable to twice that.
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

// repeats reports whether this exchange may be made. fresh says that PassesPolicy has counted no
// earlier exchange of the pass, or could not be asked.
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
