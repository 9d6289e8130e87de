package embedded

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
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
	if err == nil && has.Book.Version > s.documents[audit.Limits].Version {
		text, _ := json.Marshal(has.Book) // was JSON before
		s.documents[audit.Limits] = line.Document{Version: has.Book.Version, Text: string(text)}
		delete(s.records, audit.Limits)
		for _, c := range slices.Backward(has.Changes) {
			s.takeOld(audit.Limits, audit.Batch[limit.Change]{AtMillis: c.AtMillis, Changes: []limit.Change{c}})
		}
	}
	return err
}

// Document implements line.Documents.
func (s *Store) Document(_ context.Context, name string) (line.Document, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.documents[name], nil
}

// PutDocument implements line.Documents. The document is in force at once. NotKept says whether it is on the disk.
func (s *Store) PutDocument(_ context.Context, name string, d line.Document, was int64, notes ...line.Note) error {
	return s.change(func() (bool, error) {
		is := s.documents[name]
		if is == d {
			return false, nil
		}
		if is.Version != was {
			return false, line.ErrDocumentChanged
		}
		for _, n := range notes {
			if err := s.note(n.Record, n.Batch); err != nil {
				return false, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.documents[name] = d
		return true, nil
	})
}
