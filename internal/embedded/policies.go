package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	policiesName = "limits.json"
	// policiesFormat is the format of limits.json, as zonesFormat is of zones.json.
	policiesFormat = 1
)

// keptPolicies is what limits.json holds: the policies of limits, and the record of
// their changes. It is not changed, but replaced. What a client has taken is no part of
// it: that lives as long as the process.
type keptPolicies struct {
	Format int             `json:"format"`
	Book   limit.PolicySet `json:"book"`
	// Changes are the newest first.
	Changes []limit.Change `json:"changes,omitempty"`
}

// readPolicies takes in what the file holds.
func (s *Store) readPolicies(b []byte) error {
	var has keptPolicies
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	s.policies.Store(&has)
	return has.Book.ValidateNames()
}

// putPolicies puts policies into force, unless they are there already or not to follow
// those that are.
func (s *Store) putPolicies(b limit.PolicySet, follow func(before limit.PolicySet) (changes []limit.Change, err error)) error {
	if err := b.ValidateNames(); err != nil {
		return err
	}
	return s.change(func() (bool, error) {
		is := s.policies.Load()
		if reflect.DeepEqual(is.Book, b) {
			return false, nil
		}
		changes, err := follow(is.Book)
		if err != nil {
			return false, err
		}
		changes = append(changes, is.Changes...)
		s.policies.Store(&keptPolicies{
			Format: policiesFormat, Book: b.Clone(), Changes: changes[:min(len(changes), limit.MaxChanges)],
		})
		return true, nil
	})
}

// Policies returns the policies; one of version 0 where there are none.
func (s *Store) Policies(context.Context) (limit.PolicySet, error) {
	return s.policies.Load().Book.Clone(), nil
}

// PutPolicies replaces the policies, if their version is still the one that was read:
// else limit.ErrPoliciesChanged. The record says that it was done by the one of that
// name. It is in force at once; whether it is kept, NotKept tells.
func (s *Store) PutPolicies(_ context.Context, b limit.PolicySet, was int64, by string) error {
	return s.putPolicies(b, func(before limit.PolicySet) ([]limit.Change, error) {
		if before.Version != was {
			return nil, limit.ErrPoliciesChanged
		}
		changes := limit.Changes(before, b.Clone(), by)
		for i := range changes {
			changes[i].AtMillis = s.now().UnixMilli()
		}
		return changes, nil
	})
}

// RestorePolicies puts back policies that the store has lost: if it has none, or an
// older version. Else it changes nothing.
func (s *Store) RestorePolicies(_ context.Context, b limit.PolicySet) error {
	err := s.putPolicies(b, func(before limit.PolicySet) ([]limit.Change, error) {
		if before.Version >= b.Version {
			return nil, limit.ErrPoliciesChanged
		}
		return nil, nil
	})
	if errors.Is(err, limit.ErrPoliciesChanged) {
		return nil
	}
	return err
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(context.Context) ([]limit.Change, error) {
	return slices.Clone(s.policies.Load().Changes), nil
}
