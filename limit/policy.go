package limit

import (
	"errors"
	"fmt"
	"time"

	vocabulary "github.com/openqueue/waitingroom/internal/limits/limit"
)

// ErrInvalid is wrapped by the errors of Open and SetPolicies about a policy, which
// list all that is wrong with it.
var ErrInvalid = vocabulary.ErrInvalid

// Algorithm says how a rule counts; see the package.
type Algorithm string

// The algorithms.
const (
	SlidingLog     = Algorithm(vocabulary.SlidingLog)
	SlidingCounter = Algorithm(vocabulary.SlidingCounter)
	TokenBucket    = Algorithm(vocabulary.TokenBucket)
	LeakyBucket    = Algorithm(vocabulary.LeakyBucket)
	FixedWindow    = Algorithm(vocabulary.FixedWindow)
)

// FailurePolicy says what happens while Redis is away.
type FailurePolicy string

// The failure policies.
const (
	// FailLocal: each server enforces its share from memory.
	FailLocal = FailurePolicy(vocabulary.FailureLocal)
	// FailOpen: everything is allowed.
	FailOpen = FailurePolicy(vocabulary.FailureOpen)
	// FailClosed: everything is refused.
	FailClosed = FailurePolicy(vocabulary.FailureClosed)
)

// Rule is one limit.
type Rule struct {
	// Algorithm says how it counts.
	Algorithm Algorithm
	// Limit is how many permits there are in a window: 1-10,000,000, at most 10,000
	// for a SlidingLog.
	Limit int64
	// Window is the length of the window: whole seconds, up to a day.
	Window time.Duration
	// Burst is how many tokens a TokenBucket holds (0: as many as Limit), or how many
	// requests may wait to leave a LeakyBucket (0: none). Nothing else has one.
	Burst int64
}

// Policy is one named limit.
type Policy struct {
	// Name is 1-64 of A-Z a-z 0-9 . _ -
	Name string
	// Rules are for whoever has no tier, or one that is not in Tiers: 1 to 8, decided
	// together, all or nothing. No two of the same algorithm have the same window.
	Rules []Rule
	// Tiers have rules of their own: at most 16.
	Tiers map[string][]Rule
	// PerServer counts in each server's own memory: it costs Redis nothing, and n
	// servers together allow up to n times the limit.
	PerServer bool
	// OnStoreFailure is what happens while Redis is away. Empty: FailLocal.
	OnStoreFailure FailurePolicy
}

// policySet makes of policies what the limiter knows. The error wraps ErrInvalid.
func policySet(policies []Policy) (vocabulary.PolicySet, error) {
	var b vocabulary.PolicySet
	var errs []error
	for _, p := range policies {
		if _, there := b.Find(p.Name); there {
			errs = append(errs, fmt.Errorf("%w: policy %q is there twice", ErrInvalid, p.Name))
		}
		out := vocabulary.Policy{
			Name: p.Name, Scope: vocabulary.ScopeShared, OnStoreFailure: vocabulary.FailurePolicy(p.OnStoreFailure),
		}
		if p.PerServer {
			out.Scope = vocabulary.ScopeServer
		}
		var err error
		if out.Rules, err = rules(p.Rules); err != nil {
			errs = append(errs, fmt.Errorf("policy %q: %w", p.Name, err))
		}
		for name, of := range p.Tiers {
			if out.Tiers == nil {
				out.Tiers = make(map[string][]vocabulary.Rule, len(p.Tiers))
			}
			if out.Tiers[name], err = rules(of); err != nil {
				errs = append(errs, fmt.Errorf("policy %q: tier %s: %w", p.Name, name, err))
			}
		}
		b = b.Put(out)
	}
	if err := errors.Join(errs...); err != nil {
		return b, err
	}
	return b, b.Validate()
}

func rules(in []Rule) ([]vocabulary.Rule, error) {
	out := make([]vocabulary.Rule, len(in))
	for i, r := range in {
		if r.Window%time.Second != 0 {
			return nil, fmt.Errorf("%w: the window %v is not in whole seconds", ErrInvalid, r.Window)
		}
		out[i] = vocabulary.Rule{
			Algorithm: vocabulary.Algorithm(r.Algorithm), Limit: r.Limit,
			WindowSeconds: int64(r.Window / time.Second), Burst: r.Burst,
		}
	}
	return out, nil
}
