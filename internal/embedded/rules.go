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

	"github.com/openqueue/waitingroom/internal/limit"
)

const (
	rulesName = "limits.json"
	// rulesFormat is the format of limits.json, as zonesFormat is of zones.json.
	rulesFormat = 1
)

// rules are the policies of limits, and the record of their changes. What a client
// has taken is no part of it: that lives as long as the process.
type rules struct {
	mu   sync.Mutex
	path string // "" without a directory
	has  keptRules
}

// keptRules is what limits.json holds.
type keptRules struct {
	Format int `json:"format"`

	Book limit.Book `json:"book"`
	// Changes are the newest first.
	Changes []limit.Change `json:"changes,omitempty"`
}

// load reads the file, if there is one.
func (r *rules) load(dir string) error {
	r.path = filepath.Join(dir, rulesName)
	b, err := os.ReadFile(r.path)
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

// set puts a book into force, once it is on the disk.
func (r *rules) set(b limit.Book, changes []limit.Change) error {
	next := keptRules{Format: rulesFormat, Book: b, Changes: append(changes, r.has.Changes...)}
	next.Changes = next.Changes[:min(len(next.Changes), limit.MaxChanges)]
	if r.path != "" {
		text, err := json.MarshalIndent(next, "", "  ")
		if err == nil {
			err = replace(r.path, text)
		}
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
	r.has = next
	return nil
}

// Book returns the policies; one of version 0 where there are none.
func (s *Store) Book(context.Context) (limit.Book, error) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	return s.rules.has.Book.Clone(), nil
}

// PutBook replaces the policies, if their version is still the one that was read:
// else limit.ErrBookChanged. The record says that it was done by the one of that
// name. If the file cannot be written, nothing changes.
func (s *Store) PutBook(_ context.Context, b limit.Book, was int64, by string) error {
	if err := b.Validate(); err != nil {
		return err
	}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	before := s.rules.has.Book
	switch {
	case reflect.DeepEqual(before, b):
		return nil
	case before.Version != was:
		return limit.ErrBookChanged
	}
	b = b.Clone()
	changes := limit.Changes(before, b, by)
	for i := range changes {
		changes[i].AtMillis = s.now().UnixMilli()
	}
	return s.rules.set(b, changes)
}

// RestoreBook puts back policies that the store has lost: if it has none, or an
// older version. Else it changes nothing.
func (s *Store) RestoreBook(_ context.Context, b limit.Book) error {
	if err := b.Validate(); err != nil {
		return err
	}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	if s.rules.has.Book.Version >= b.Version {
		return nil
	}
	return s.rules.set(b.Clone(), nil)
}

// BookChanges returns the record of changes of policies, the newest first.
func (s *Store) BookChanges(context.Context) ([]limit.Change, error) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	return append([]limit.Change(nil), s.rules.has.Changes...), nil
}
