package lua

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/store"
)

// Outcomes of put_document.lua.
const (
	documentDiffers = 1
	documentNewer   = 2
	documentMoved   = 3
	documentSame    = 4
)

// document reads the document of which a record has the changes. what names it in an error.
func (s *Store) document(ctx context.Context, what, record string, r reason) (d store.Document, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	v, err := s.client.HMGet(ctx, s.bookKey(record), "json", formatField, "version").Result()
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

// batched is what goes into a record with a document: an audit.Batch, or nil for nothing.
type batched struct {
	record string
	batch  any
}

// batchOf is a batch of changes, nil for none.
func batchOf[T any](record string, changes []T) batched {
	if len(changes) == 0 {
		return batched{record, nil}
	}
	return batched{record, audit.Batch[T]{Changes: changes}}
}

// putDocument replaces a document, if its version is still was: else it returns store.ErrDocumentChanged. The first of notes goes
// into its record, dated by Redis, and the second, if there is one, into another one of its node.
func (s *Store) putDocument(ctx context.Context, what string, d store.Document, was int64, notes ...batched) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	for range maxTries {
		keys, texts := []string{s.bookKey(notes[0].record)}, make([]any, 2)
		var added []addition
		texts[0], texts[1] = "", ""
		for i, n := range notes[:min(len(notes), len(texts))] {
			keys = append(keys, s.recordKeys(n.record)...)
			if n.batch == nil {
				continue
			}
			a, err := s.compose(ctx, n.record, n.batch, 0)
			if err != nil {
				return err
			}
			added, texts[i] = append(added, a), a.text
		}
		switch reply, err := s.run(ctx, putDocumentScript, keys, append([]any{was, d.Version, d.Text}, texts...)...); {
		case err != nil:
			return err
		case reply == int64(documentDiffers):
			return store.ErrDocumentChanged
		case reply == int64(documentNewer):
			return newer("the "+what+" have another", documentFormat)
		case reply == int64(documentSame):
			return nil
		case reply == int64(0):
			for _, a := range added {
				s.sealer.Added(a.name, a.Addition)
			}
			return nil
		case reply != int64(documentMoved):
			return fmt.Errorf("lua: put_document: reply is %v", reply)
		}
	}
	return store.ErrDocumentChanged
}

// Credentials implements store.Keeper.
func (s *Store) Credentials(ctx context.Context) (store.Document, error) {
	return s.document(ctx, "credentials", audit.Operators, credentialsReason)
}

// PutCredentials implements store.Keeper.
func (s *Store) PutCredentials(ctx context.Context, d store.Document, was int64, events ...audit.Event) error {
	events, refusals := audit.SplitRefusals(events)
	return s.putDocument(ctx, "credentials", d, was, batchOf(audit.Operators, events), batchOf(audit.Refusals, refusals))
}

// OperatorEvents implements store.Keeper.
func (s *Store) OperatorEvents(ctx context.Context) (all []audit.Event, err error) {
	for _, record := range []string{audit.Refusals, audit.Operators} {
		some, err := documentRecord(ctx, s, record, func(e *audit.Event, at int64) { e.AtMillis = at })
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b audit.Event) int { return cmp.Compare(b.AtMillis, a.AtMillis) })
	return all, nil
}

// documentRecord reads the newest page of a record of the room, the newest first, and dates each change.
func documentRecord[T any](ctx context.Context, s *Store, record string, date func(*T, int64)) ([]T, error) {
	p, err := s.Record(ctx, record, 0)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, text := range p.Entries {
		var b audit.Batch[T]
		if err := readEntry(record, p, text, &b); err != nil {
			return nil, err
		}
		for i := range b.Changes {
			date(&b.Changes[i], b.AtMillis)
		}
		all = append(all, b.Changes...)
	}
	return all, nil
}
