package lua

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// Outcomes of book.lua.
const (
	bookDiffers = 1
	bookNewer   = 2
)

// bookKeys are the book of policies and the record of its changes. A colon is in
// no zone's name, so that they are no zone's.
func (s *Store) bookKeys() []string {
	tag := s.prefix + "{:limits}:"
	return []string{tag + "book", tag + "audit"}
}

// Policies returns all policies; a set of version 0 where there are none.
func (s *Store) Policies(ctx context.Context) (limit.PolicySet, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	v, err := s.client.HMGet(ctx, s.bookKeys()[0], "json", formatField).Result()
	if err != nil {
		return limit.PolicySet{}, s.failed(ctx, "book", err)
	}
	err = checkFormat("the book of policies", v[1], bookFormat)
	s.finds(&s.misfits.book, err)
	if err != nil {
		return limit.PolicySet{}, err
	}
	text, ok := v[0].(string)
	if !ok {
		return limit.PolicySet{}, nil
	}
	var b limit.PolicySet
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return limit.PolicySet{}, fmt.Errorf("lua: the policies are damaged: %w", err)
	}
	return b, nil
}

// PutPolicies replaces the policies, if their version is still the one that was read:
// else limit.ErrPoliciesChanged. The record says that it was done by the one of that
// name.
func (s *Store) PutPolicies(ctx context.Context, b limit.PolicySet, was int64, by string) error {
	before, err := s.Policies(ctx)
	if err != nil {
		return err
	}
	// With the version of b itself, it was this call that was made before, and
	// whose reply was lost.
	if before.Version != was && before.Version != b.Version {
		return limit.ErrPoliciesChanged
	}
	changes, err := json.Marshal(limit.Changes(before, b, by))
	if err != nil {
		return fmt.Errorf("lua: %w", err)
	}
	return s.setPolicies(ctx, "put", b, was, string(changes))
}

// RestorePolicies puts back policies that the store has lost: if it has none, or an
// older version. Else it changes nothing.
func (s *Store) RestorePolicies(ctx context.Context, b limit.PolicySet) error {
	if err := s.setPolicies(ctx, "restore", b, 0, ""); !errors.Is(err, limit.ErrPoliciesChanged) {
		return err
	}
	return nil
}

func (s *Store) setPolicies(ctx context.Context, how string, b limit.PolicySet, was int64, changes string) error {
	if err := b.Validate(); err != nil {
		return err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("lua: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.settle)
	defer cancel()
	reply, err := s.run(ctx, bookScript, s.bookKeys(),
		s.clock(), how, was, b.Version, string(text), changes, limit.MaxChanges)
	switch {
	case err != nil:
		return err
	case reply == int64(bookDiffers):
		return limit.ErrPoliciesChanged
	case reply == int64(bookNewer):
		return newer("the book of policies has another", bookFormat)
	case reply != int64(0):
		return fmt.Errorf("lua: book: reply is %v", reply)
	}
	return nil
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(ctx context.Context) ([]limit.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.settle)
	defer cancel()
	entries, err := s.client.LRange(ctx, s.bookKeys()[1], 0, -1).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	var all []limit.Change
	for _, text := range entries {
		var e struct {
			AtMillis int64          `json:"at"`
			Changes  []limit.Change `json:"changes"`
		}
		if err := readEntry("policies", text, &e); err != nil {
			return nil, err
		}
		for _, c := range e.Changes {
			c.AtMillis = e.AtMillis
			all = append(all, c)
		}
	}
	return all[:min(len(all), limit.MaxChanges)], nil
}
