package embedded

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// oldPoliciesName is where version 0.1.0 kept the policies of limits, with the record of their changes, in format 1. They are
// part of zones.json and changes.json now.
const oldPoliciesName = "limits.json"

// readOldPolicies takes in the contents of limits.json, unless zones.json has newer policies.
func (s *Store) readOldPolicies(b []byte) error {
	var has struct {
		Book    limit.PolicySet `json:"book"`
		Changes []limit.Change  `json:"changes"`
	}
	err := json.Unmarshal(b, &has)
	if err == nil && has.Book.Version > s.policies.Version {
		s.policies = has.Book
		delete(s.records, audit.Limits)
		for _, c := range slices.Backward(has.Changes) {
			s.takeOld(audit.Limits, audit.Batch[limit.Change]{AtMillis: c.AtMillis, Changes: []limit.Change{c}})
		}
	}
	return err
}

// Policies returns the policies in force; a set of version 0 if there are none.
func (s *Store) Policies(context.Context) (limit.PolicySet, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.policies.Clone(), nil
}

// PutPolicies replaces the policies, if their version is still was, the one that was read; else it returns
// limit.ErrPoliciesChanged. changes go into the record, dated by the store. The policies are in force at once. NotKept says
// whether they are on the disk.
func (s *Store) PutPolicies(_ context.Context, b limit.PolicySet, was int64, changes ...limit.Change) error {
	return s.change(func() (bool, error) {
		if reflect.DeepEqual(s.policies, b) {
			return false, nil
		}
		if s.policies.Version != was {
			return false, limit.ErrPoliciesChanged
		}
		if len(changes) > 0 {
			if err := s.note(audit.Limits, audit.Batch[limit.Change]{Changes: changes}); err != nil {
				return false, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.policies = b.Clone()
		return true, nil
	})
}
