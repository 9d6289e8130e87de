package embedded

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

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
		s.policies, s.policyChanges = has.Book, has.Changes
		s.entries++ // so that changes.json is written
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
		changes = slices.Concat(changes, s.policyChanges)
		for i := range len(changes) - len(s.policyChanges) {
			changes[i].AtMillis = s.now().UnixMilli()
			s.entries++
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.policies, s.policyChanges = b.Clone(), changes[:min(len(changes), limit.MaxChanges)]
		return true, nil
	})
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(context.Context) ([]limit.Change, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.policyChanges), nil
}
