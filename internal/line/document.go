package line

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/audit"
)

// ErrDocumentChanged says that somebody else has replaced the document since it was read. Nothing was changed.
var ErrDocumentChanged = errors.New("line: the document was changed meanwhile")

// Document is a text that a store keeps and replaces as a whole. Version grows with each change; 0 is one that was never
// written.
type Document struct {
	Version int64  `json:"version"`
	Text    string `json:"text"`
}

// Documents keeps documents by their names, which begin with a colon: the policies of limits as audit.Limits, the operators'
// credentials as audit.Operators, and others up to 80 lower-case letters, digits, hyphens and colons. No method returns ErrZoneUnknown or
// ErrZoneDeleted.
type Documents interface {
	// Document returns a document; the zero Document if there is none.
	Document(ctx context.Context, name string) (Document, error)
	// PutDocument replaces a document if its version is still was, the one that was read; else it returns ErrDocumentChanged. notes,
	// at most two, go into their records in the same step, dated by the store. A repeated call changes nothing.
	PutDocument(ctx context.Context, name string, d Document, was int64, notes ...Note) error
}

// Note is an entry of a record: an audit.Batch. A document has notes in the record of its name, and audit.Operators has others in
// audit.Refusals.
type Note struct {
	Record string
	Batch  any
}

// NoteOf is the entry of changes, none if there are none.
func NoteOf[T any](record string, changes []T) []Note {
	if len(changes) == 0 {
		return nil
	}
	return []Note{{record, audit.Batch[T]{Changes: changes}}}
}

// Keeper keeps documents, and reads the records of their changes.
type Keeper interface {
	Documents
	// Record returns a page of a record, as store.Editor says.
	Record(ctx context.Context, name string, skip int) (audit.Page, error)
}

// ReadEntry reads an entry of a page of a record into entry. The error wraps ErrFormat for one that a newer version has
// written.
func ReadEntry(record string, p audit.Page, text string, entry any) error {
	var head struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal([]byte(text), &head)
	if err == nil && head.Format > audit.EntryFormat {
		return fmt.Errorf("line: %w: the record of %s has format %d, and this version knows formats up to %d: "+
			"start the version that wrote it, or a later one", ErrFormat, record, head.Format, audit.EntryFormat)
	}
	if err == nil {
		err = p.Decode(text, entry)
	}
	if err != nil {
		return fmt.Errorf("line: the record of %s is damaged: %w", record, err)
	}
	return nil
}

// Noted reads the newest page of what was noted in a record with documents, the newest first, and dates each change by date.
func Noted[T any](ctx context.Context, s Keeper, record string, date func(change *T, atMillis int64)) (all []T, err error) {
	p, err := s.Record(ctx, record, 0)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Entries {
		var b audit.Batch[T]
		if err := ReadEntry(record, p, text, &b); err != nil {
			return nil, err
		}
		for i := range b.Changes {
			date(&b.Changes[i], b.AtMillis)
		}
		all = append(all, b.Changes...)
	}
	return all, nil
}
