package lua

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/store"
)

// Outcomes of put_document.lua.
const (
	documentDiffers = 1
	documentNewer   = 2
)

// document reads a document: keys are its own and that of its record. what names it in an error.
func (s *Store) document(ctx context.Context, what string, keys []string, r reason) (d store.Document, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	v, err := s.client.HMGet(ctx, keys[0], "json", formatField, "version").Result()
	if err != nil {
		return d, s.failed(ctx, what, err)
	}
	err = checkFormat("the book of "+what, v[1], documentFormat)
	s.finds(r, err)
	if err != nil {
		return d, err
	}
	d.Text, _ = v[0].(string) // there is none
	if text, ok := v[2].(string); ok {
		if _, err := fmt.Sscan(text, &d.Version); err != nil {
			return store.Document{}, fmt.Errorf("lua: the %s are damaged: version %q", what, text)
		}
	}
	return d, nil
}

// putDocument replaces a document, if its version is still was: else it returns store.ErrDocumentChanged. changes go into its
// record, dated by Redis; none if it is "".
func (s *Store) putDocument(ctx context.Context, what string, keys []string, d store.Document, was int64, changes string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	reply, err := s.run(ctx, putDocumentScript, keys, s.clock(), was, d.Version, d.Text, changes, limit.MaxChanges)
	switch {
	case err != nil:
		return err
	case reply == int64(documentDiffers):
		return store.ErrDocumentChanged
	case reply == int64(documentNewer):
		return newer("the "+what+" have another", documentFormat)
	case reply != int64(0):
		return fmt.Errorf("lua: put_document: reply is %v", reply)
	}
	return nil
}

// credentialsKeys are the operators' credentials and the record of their changes.
func (s *Store) credentialsKeys() []string {
	tag := s.prefix + "{:operators}:"
	return []string{tag + "book", tag + "audit"}
}

// Credentials implements store.Keeper.
func (s *Store) Credentials(ctx context.Context) (store.Document, error) {
	return s.document(ctx, "credentials", s.credentialsKeys(), credentialsReason)
}

// PutCredentials implements store.Keeper.
func (s *Store) PutCredentials(ctx context.Context, d store.Document, was int64, events ...audit.Event) error {
	record := ""
	if len(events) > 0 {
		var err error
		if record, err = marshal(events); err != nil {
			return err
		}
	}
	return s.putDocument(ctx, "credentials", s.credentialsKeys(), d, was, record)
}

// OperatorEvents implements store.Keeper.
func (s *Store) OperatorEvents(ctx context.Context) ([]audit.Event, error) {
	return documentRecord(ctx, s, s.credentialsKeys()[1], "operators", func(e *audit.Event, at int64) { e.AtMillis = at })
}

// documentRecord reads what put_document.lua has recorded, the newest first, and dates each entry.
func documentRecord[T any](ctx context.Context, s *Store, key, of string, date func(*T, int64)) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	entries, err := s.client.LRange(ctx, key, 0, -1).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	var all []T
	for _, text := range entries {
		var e struct {
			AtMillis int64 `json:"at"`
			Changes  []T   `json:"changes"`
		}
		if err := readEntry(of, text, &e); err != nil {
			return nil, err
		}
		for i := range e.Changes {
			date(&e.Changes[i], e.AtMillis)
		}
		all = append(all, e.Changes...)
	}
	return all[:min(len(all), limit.MaxChanges)], nil
}
