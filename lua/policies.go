package lua

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/store"
)

// policiesKeys are the policies and the record of its changes. A colon is in
// no zone's name, so that they are no zone's.
func (s *Store) policiesKeys() []string {
	tag := s.prefix + "{:limits}:"
	return []string{tag + "book", tag + "audit"}
}

// Policies returns the policies; one of version 0 where there are none.
func (s *Store) Policies(ctx context.Context) (limit.PolicySet, error) {
	d, err := s.document(ctx, "policies", s.policiesKeys(), policiesReason)
	if err != nil || d.Text == "" {
		return limit.PolicySet{}, err
	}
	var b limit.PolicySet
	if err := json.Unmarshal([]byte(d.Text), &b); err != nil {
		return limit.PolicySet{}, fmt.Errorf("lua: the policies are damaged: %w", err)
	}
	return b, nil
}

// PutPolicies replaces the policies, if their version is still was, the one that was read:
// else it returns limit.ErrPoliciesChanged. changes go into the record, dated by Redis.
func (s *Store) PutPolicies(ctx context.Context, b limit.PolicySet, was int64, changes ...limit.Change) error {
	text, err := marshal(b)
	record := ""
	if err == nil && len(changes) > 0 {
		record, err = marshal(changes)
	}
	if err != nil {
		return err
	}
	err = s.putDocument(ctx, "policies", s.policiesKeys(), store.Document{Version: b.Version, Text: text}, was, record)
	if errors.Is(err, store.ErrDocumentChanged) {
		return limit.ErrPoliciesChanged
	}
	return err
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(ctx context.Context) ([]limit.Change, error) {
	return documentRecord(ctx, s, s.policiesKeys()[1], "policies", func(c *limit.Change, at int64) { c.AtMillis = at })
}
