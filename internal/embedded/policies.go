package embedded

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	policiesName = "limits.json"
	// policiesFormat is the format of limits.json, as zonesFormat is of zones.json.
	policiesFormat = 1
)

// policies are those of limits, and the record of their changes. What a client has
// taken is no part of it: that lives as long as the process.
type policies struct {
	mu  sync.Mutex
	has keptPolicies
}

// keptPolicies is what limits.json holds.
type keptPolicies struct {
	Format int `json:"format"`

	Book limit.Book `json:"book"`
	// Changes are the newest first.
	Changes []limit.Change `json:"changes,omitempty"`
}

// read takes in what the file holds.
func (p *policies) read(b []byte) error {
	if err := json.Unmarshal(b, &p.has); err != nil {
		return err
	}
	return p.has.Book.Validate()
}

// kept is what is in force. It is not changed any more, but replaced.
func (p *policies) kept() keptPolicies {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has
}

// set puts policies into force. The caller holds mu.
func (p *policies) set(b limit.Book, changes []limit.Change) {
	changes = append(changes, p.has.Changes...)
	p.has = keptPolicies{
		Format: policiesFormat, Book: b, Changes: changes[:min(len(changes), limit.MaxChanges)],
	}
}

// Policies returns the policies; one of version 0 where there are none.
func (s *Store) Policies(context.Context) (limit.Book, error) {
	return s.policies.kept().Book.Clone(), nil
}

// PutPolicies replaces the policies, if their version is still the one that was read:
// else limit.ErrBookChanged. The record says that it was done by the one of that
// name. It is in force at once; whether it is kept, NotKept tells.
func (s *Store) PutPolicies(_ context.Context, b limit.Book, was int64, by string) error {
	if err := b.Validate(); err != nil {
		return err
	}
	changed, err := s.policies.put(b, was, by, s.now().UnixMilli())
	if changed {
		s.flush()
	}
	return err
}

func (p *policies) put(b limit.Book, was int64, by string, now int64) (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.has.Book
	switch {
	case reflect.DeepEqual(before, b):
		return false, nil
	case before.Version != was:
		return false, limit.ErrBookChanged
	}
	b = b.Clone()
	changes := limit.Changes(before, b, by)
	for i := range changes {
		changes[i].AtMillis = now
	}
	p.set(b, changes)
	return true, nil
}

// RestorePolicies puts back policies that the store has lost: if it has none, or an
// older version. Else it changes nothing.
func (s *Store) RestorePolicies(_ context.Context, b limit.Book) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if s.policies.restore(b) {
		s.flush()
	}
	return nil
}

func (p *policies) restore(b limit.Book) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if changed = p.has.Book.Version < b.Version; changed {
		p.set(b.Clone(), nil)
	}
	return changed
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(context.Context) ([]limit.Change, error) {
	return slices.Clone(s.policies.kept().Changes), nil
}
