package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	rulesName = "limits.json"
	// rulesFormat is the format of limits.json, as zonesFormat is of zones.json.
	rulesFormat = 1
)

// rules are the policies of limits, and the record of their changes. What a client
// has taken is no part of it: that lives as long as the process.
type rules struct {
	mu  sync.Mutex
	has keptRules
	// unsaved: the file does not hold what is in force. Never without a directory.
	unsaved bool

	// writing is held by whoever writes the file; mu is taken within it.
	writing sync.Mutex
	disk    *disk // nil without a directory
}

// keptRules is what limits.json holds.
type keptRules struct {
	Format int `json:"format"`

	Book limit.PolicySet `json:"book"`
	// Changes are the newest first.
	Changes []limit.Change `json:"changes,omitempty"`
}

// load reads the file, if there is one.
func (r *rules) load(d *disk) error {
	r.disk = d
	b, err := os.ReadFile(filepath.Join(d.dir, rulesName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := checkFormat(b, rulesName, rulesFormat); err != nil {
		return err
	}
	if err = json.Unmarshal(b, &r.has); err == nil {
		err = r.has.Book.Validate()
	}
	if err != nil {
		return fmt.Errorf("embedded: %s is damaged (%w): restore it, or move it away to begin with no policies", rulesName, err)
	}
	return nil
}

// set puts a book into force. The caller holds mu, and sees to it that it is saved.
func (r *rules) set(b limit.PolicySet, changes []limit.Change) {
	next := keptRules{Format: rulesFormat, Book: b, Changes: append(changes, r.has.Changes...)}
	next.Changes = next.Changes[:min(len(next.Changes), limit.MaxChanges)]
	r.has, r.unsaved = next, r.disk != nil
}

// save writes the file, if it does not hold what is in force.
func (r *rules) save() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	has, unsaved := r.has, r.unsaved
	r.unsaved = false
	r.mu.Unlock()
	if !unsaved {
		return nil
	}
	text, err := json.MarshalIndent(has, "", "  ")
	if err == nil {
		err = r.disk.put(rulesName, text)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unsaved = true
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// Policies returns all policies; a set of version 0 where there are none.
func (s *Store) Policies(context.Context) (limit.PolicySet, error) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	return s.rules.has.Book.Clone(), nil
}

// PutPolicies replaces the policies, if their version is still the one that was read:
// else limit.ErrPoliciesChanged. The record says that it was done by the one of that
// name. It is in force at once; whether it is kept, NotKept tells.
func (s *Store) PutPolicies(_ context.Context, b limit.PolicySet, was int64, by string) error {
	if err := b.Validate(); err != nil {
		return err
	}
	changed, err := s.rules.put(b, was, by, s.now().UnixMilli())
	if changed {
		s.flush()
	}
	return err
}

func (r *rules) put(b limit.PolicySet, was int64, by string, now int64) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.has.Book
	switch {
	case reflect.DeepEqual(before, b):
		return false, nil
	case before.Version != was:
		return false, limit.ErrPoliciesChanged
	}
	b = b.Clone()
	changes := limit.Changes(before, b, by)
	for i := range changes {
		changes[i].AtMillis = now
	}
	r.set(b, changes)
	return true, nil
}

// RestorePolicies puts back policies that the store has lost: if it has none, or an
// older version. Else it changes nothing.
func (s *Store) RestorePolicies(_ context.Context, b limit.PolicySet) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if s.rules.restore(b) {
		s.flush()
	}
	return nil
}

func (r *rules) restore(b limit.PolicySet) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.has.Book.Version >= b.Version {
		return false
	}
	r.set(b.Clone(), nil)
	return true
}

// PolicyChanges returns the record of changes of policies, the newest first.
func (s *Store) PolicyChanges(context.Context) ([]limit.Change, error) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	return append([]limit.Change(nil), s.rules.has.Changes...), nil
}
