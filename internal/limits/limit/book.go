package limit

import (
	"errors"
	"fmt"
	"slices"
)

// ErrBookChanged: somebody else has changed the book since it was read.
var ErrBookChanged = errors.New("limit: the policies were changed meanwhile")

// Book is all policies, as a store keeps them: one document, so that it is
// changed and restored as a whole, and the newer of two is seen at once.
type Book struct {
	// Version grows with each change; 0 is a book that was never written.
	Version int64 `json:"version"`
	// Policies are sorted by name.
	Policies []Policy `json:"policies"`
	// Deleted are the names that were deleted and not made again: what a
	// configuration file has by such a name is not put back. Sorted.
	Deleted []string `json:"deleted,omitempty"`
}

// Clone returns a copy that shares nothing with b.
func (b Book) Clone() Book {
	b.Policies, b.Deleted = slices.Clone(b.Policies), slices.Clone(b.Deleted)
	for i, p := range b.Policies {
		b.Policies[i] = p.Clone()
	}
	return b
}

// Find returns the policy of that name.
func (b Book) Find(name string) (Policy, bool) {
	for _, p := range b.Policies {
		if p.Name == name {
			return p.Clone(), true
		}
	}
	return Policy{}, false
}

// Put returns a book in which the policy is in force, one version on.
func (b Book) Put(p Policy) Book {
	out := b.without(p.Name)
	out.Policies = append(out.Policies, p.WithDefaults().Clone())
	slices.SortFunc(out.Policies, func(a, b Policy) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return out
}

// Delete returns a book without the policy of that name, one version on.
func (b Book) Delete(name string) Book {
	out := b.without(name)
	out.Deleted = append(out.Deleted, name)
	slices.Sort(out.Deleted)
	return out
}

func (b Book) without(name string) Book {
	out := Book{Version: b.Version + 1}
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

// Validate reports what is wrong with the book or a policy of it, in an error that
// wraps ErrInvalid.
func (b Book) Validate() error {
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
