package policyset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
)

// Stored returns the policies that a store has; a set of version 0 if there are none.
func Stored(ctx context.Context, s line.Documents) (b limit.PolicySet, err error) {
	d, err := s.Document(ctx, audit.Limits)
	if err == nil && d.Text != "" {
		err = json.Unmarshal([]byte(d.Text), &b)
	}
	if err != nil {
		return limit.PolicySet{}, fmt.Errorf("policyset: the policies cannot be read: %w", err)
	}
	return b, nil
}

// Replace has a store replace the policies if their version is still was, the one that was read; else it returns
// limit.ErrPoliciesChanged. changes go into the record, with the time of the store; none if policies that were lost are put
// back. A repeated call changes nothing.
func Replace(ctx context.Context, s line.Documents, b limit.PolicySet, was int64, changes ...limit.Change) error {
	text, err := json.Marshal(b)
	if err == nil {
		err = s.PutDocument(ctx, audit.Limits, line.Document{Version: b.Version, Text: string(text)}, was, line.NoteOf(audit.Limits, changes)...)
	}
	if errors.Is(err, line.ErrDocumentChanged) {
		return limit.ErrPoliciesChanged
	}
	return err
}

// Recorded returns a store's latest changes of policies, the newest first.
func Recorded(ctx context.Context, s line.Keeper) ([]limit.Change, error) {
	return line.Noted(ctx, s, audit.Limits, func(c *limit.Change, at int64) { c.AtMillis = at })
}
