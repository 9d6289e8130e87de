package limit

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// ErrPoliciesChanged says that somebody else has changed the policies since they were read.
var ErrPoliciesChanged = refusal.New("limit: the policies were changed meanwhile", refusal.Conflict)

// PolicySet is all policies, as a store keeps them: one document. So it is changed and
// restored as a whole, and the version tells the newer of two.
type PolicySet struct {
	// Version grows with each change; 0 is a set that was never written.
	Version int64 `json:"version"`
	// Policies are sorted by name.
	Policies []Policy `json:"policies"`
	// Deleted are the names of policies that were deleted and not made again, sorted. A
	// policy of such a name is not taken from a configuration file again.
	Deleted []string `json:"deleted,omitempty"`
}

// Clone returns a copy that shares nothing with b.
func (b PolicySet) Clone() PolicySet {
	b.Policies, b.Deleted = slices.Clone(b.Policies), slices.Clone(b.Deleted)
	for i, p := range b.Policies {
		b.Policies[i] = p.Clone()
	}
	return b
}

// Find returns the policy of that name.
func (b PolicySet) Find(name string) (Policy, bool) {
	for _, p := range b.Policies {
		if p.Name == name {
			return p.Clone(), true
		}
	}
	return Policy{}, false
}

// Put returns a set with the policy, in place of one of the same name. Its version is the next.
func (b PolicySet) Put(p Policy) PolicySet {
	out := b.without(p.Name)
	out.Policies = append(out.Policies, p.WithDefaults().Clone())
	slices.SortFunc(out.Policies, func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Delete returns a set without the policy of that name. Its version is the next.
func (b PolicySet) Delete(name string) PolicySet {
	out := b.without(name)
	out.Deleted = append(out.Deleted, name)
	slices.Sort(out.Deleted)
	return out
}

func (b PolicySet) without(name string) PolicySet {
	out := PolicySet{Version: b.Version + 1}
	for _, p := range b.Policies {
		if p.Name != name {
			out.Policies = append(out.Policies, p)
		}
	}
	for _, d := range b.Deleted {
		if d != name {
			out.Deleted = append(out.Deleted, d)
		}
	}
	return out
}

// Validate returns all faults of the set and of its policies, in one error that wraps
// ErrInvalid; nil for none.
func (b PolicySet) Validate() error {
	var errs []error
	if len(b.Policies) > MaxPolicies {
		errs = append(errs, fmt.Errorf("%w: %d policies, at most %d", ErrInvalid, len(b.Policies), MaxPolicies))
	}
	for i, p := range b.Policies {
		if err := p.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("policy %q: %w", p.Name, err))
		}
		if i > 0 && b.Policies[i-1].Name >= p.Name {
			errs = append(errs, fmt.Errorf("%w: policy %q is there twice, or out of order", ErrInvalid, p.Name))
		}
	}
	return errors.Join(errs...)
}

// Change is one entry of the record of changes. There is no entry for a change that
// changes nothing, nor for putting back policies that a store has lost.
type Change struct {
	AtMillis int64  `json:"at" minimum:"1" maximum:"9007199254740991" doc:"When, in Unix milliseconds on the store's clock." example:"1795223373123"`
	Policy   string `json:"policy"`
	audit.By
	Was *Policy `json:"was" doc:"The policy before; null if it was made."`
	Now *Policy `json:"now" doc:"The policy after; null if it was deleted."`
}

// Changes returns the entries that lead from one set of policies to another, in the order of the
// policies' names. It leaves AtMillis at 0.
func Changes(was, now PolicySet, by audit.By) []Change {
	var all []Change
	for _, p := range was.Policies {
		if next, ok := now.Find(p.Name); !ok {
			all = append(all, Change{Policy: p.Name, By: by, Was: new(p.Clone())})
		} else if !reflect.DeepEqual(p.WithDefaults(), next.WithDefaults()) {
			all = append(all, Change{Policy: p.Name, By: by, Was: new(p.Clone()), Now: &next})
		}
	}
	for _, p := range now.Policies {
		if _, ok := was.Find(p.Name); !ok {
			all = append(all, Change{Policy: p.Name, By: by, Now: new(p.Clone())})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Policy, b.Policy) })
	return all
}
