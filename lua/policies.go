package lua

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/store"
)

// bookKey is where the document lies of which a record has the changes. A colon is in no zone's name, so that it is no zone's.
func (s *Store) bookKey(record string) string { return s.prefix + "{" + record + "}:book" }

// Policies returns the policies; one of version 0 where there are none.
func (s *Store) Policies(ctx context.Context) (limit.PolicySet, error) {
	d, err := s.document(ctx, "policies", audit.Limits, policiesReason)
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
	if err != nil {
		return err
	}
	d := store.Document{Version: b.Version, Text: text}
	err = s.putDocument(ctx, "policies", d, was, batchOf(audit.Limits, changes))
	if errors.Is(err, store.ErrDocumentChanged) {
		return limit.ErrPoliciesChanged
	}
	return err
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(ctx context.Context) ([]limit.Change, error) {
	return documentRecord(ctx, s, audit.Limits, func(c *limit.Change, at int64) { c.AtMillis = at })
}
