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
// their changes. It is never changed, only replaced. What clients have taken is not part of
// it: those counts end with the process.
type keptPolicies struct {
	Format int             `json:"format"`
	Book   limit.PolicySet `json:"book"`
	// Changes is the record, the newest first.
	Changes []limit.Change `json:"changes,omitempty"`
}

// readPolicies reads the contents of limits.json.
func (s *Store) readPolicies(b []byte) error {
	var has keptPolicies
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	s.policies.Store(&has)
	return has.Book.ValidateNames()
}

// putPolicies puts policies into force, unless they are in force already. follow gets those
// in force before, and returns the entries for the record, or an error if b must not replace
// them.
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

// Policies returns the policies in force; a set of version 0 if there are none.
func (s *Store) Policies(context.Context) (limit.PolicySet, error) {
	return s.policies.Load().Book.Clone(), nil
}

// PutPolicies replaces the policies, if their version is still was, the one that was read;
// else it returns limit.ErrPoliciesChanged. by is who made the change, for the record. The
// change is in force at once. NotKept says whether it is on the disk.
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

// RestorePolicies puts back policies that the store has lost. It changes nothing if the
// store has policies of this version or a newer one.
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
