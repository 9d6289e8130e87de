package store

import (
	"context"
	"errors"

	"github.com/openqueue/waitingroom/internal/audit"
)

// ErrDocumentChanged says that somebody else has replaced the document since it was read. Nothing was changed.
var ErrDocumentChanged = errors.New("store: the document was changed meanwhile")

// Document is a text that a store keeps and replaces as a whole. Version grows with each change; 0 is one that was never
// written.
type Document struct {
	Version int64  `json:"version"`
	Text    string `json:"text"`
}

// Keeper keeps the operators' credentials as one document. The caller signs the document, so whoever writes to the store makes no
// operator. Neither method returns ErrZoneUnknown or ErrZoneDeleted.
type Keeper interface {
	// Credentials returns the document; the zero Document if there is none.
	Credentials(ctx context.Context) (Document, error)
	// PutCredentials replaces the document if its version is still was, the one that was read; else it returns
	// ErrDocumentChanged. events go into the operators' record, dated by the store. A repeated call changes nothing.
	PutCredentials(ctx context.Context, d Document, was int64, events ...audit.Event) error
	// OperatorEvents returns the operators' record, the newest first: those of the newest page of audit.Operators, and of audit.Refusals.
	OperatorEvents(ctx context.Context) ([]audit.Event, error)
}
