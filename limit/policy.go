package limit

import (
	"errors"
	"fmt"

	vocabulary "github.com/openqueue/waitingroom/internal/limits/limit"
)

// ErrInvalid is wrapped by the errors of Open and SetPolicies about a policy. They list
// all its faults.
var ErrInvalid = vocabulary.ErrInvalid

// Algorithm says how a rule counts; see the package.
type Algorithm = vocabulary.Algorithm

// The algorithms.
const (
	SlidingLog     = vocabulary.SlidingLog
	SlidingCounter = vocabulary.SlidingCounter
	TokenBucket    = vocabulary.TokenBucket
	LeakyBucket    = vocabulary.LeakyBucket
	FixedWindow    = vocabulary.FixedWindow
)

// FailurePolicy says what happens while Redis is away.
type FailurePolicy = vocabulary.FailurePolicy

// The failure policies.
const (
	// FailLocal: each server enforces its share from memory.
	FailLocal = vocabulary.FailureLocal
	// FailOpen: everything is allowed.
	FailOpen = vocabulary.FailureOpen
	// FailClosed: everything is refused.
	FailClosed = vocabulary.FailureClosed
)

// ScopeServer counts in each server's own memory: it costs Redis nothing, and n
// servers together allow up to n times the limit.
const ScopeServer = vocabulary.ScopeServer

// Rule is one limit:
//
//	Algorithm      says how it counts
//	Limit          how many permits there are in a window: 1-10,000,000, at most
//	               10,000 for a SlidingLog
//	WindowSeconds  the length of the window, 1-86,400 s
//	Burst          how many tokens a TokenBucket holds (0: as many as Limit), or how
//	               many requests may wait to leave a LeakyBucket (0: none). Other
//	               algorithms have none
type Rule = vocabulary.Rule

// Policy is one named limit. It is read from JSON and YAML in the form that
// queue-server has for its own:
//
//	Name            1-64 of A-Z a-z 0-9 . _ -
//	Rules           are for clients without a tier, or with one that is not in Tiers:
//	                1 to 8, decided together, all or nothing. No two rules of one
//	                algorithm have the same window
//	Tiers           have rules of their own: at most 16
//	Scope           empty, or ScopeServer
//	OnStoreFailure  what happens while Redis is away. Empty: FailLocal
//	Key             is not used here: a KeyFunc is the key
type Policy = vocabulary.Policy

// policySet makes one set of policies. The error wraps ErrInvalid.
func policySet(policies []Policy) (b vocabulary.PolicySet, err error) {
	var errs []error
	for _, p := range policies {
		if _, there := b.Find(p.Name); there {
			errs = append(errs, fmt.Errorf("%w: policy %q is there twice", ErrInvalid, p.Name))
		}
		b = b.Put(p)
	}
	return b, errors.Join(append(errs, b.Validate())...)
}
