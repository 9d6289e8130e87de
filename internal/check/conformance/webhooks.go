package conformance

import (
	"context"
	"testing"

	"github.com/openqueue/waitingroom/internal/store"
)

// Progress has the document of a webhook written, repeated and contested. That of another webhook stays.
func Progress(t *testing.T, s store.Webhooks) {
	t.Helper()
	document(t, func(ctx context.Context) (store.Document, error) { return s.Progress(ctx, "shop") }, `{"zones":{}}`,
		func(ctx context.Context, _ int, d store.Document, was int64) error {
			return s.PutProgress(ctx, "shop", d, was)
		})
	if got, err := s.Progress(t.Context(), "another"); err != nil || got != (store.Document{}) {
		t.Errorf("another webhook has %+v, %v", got, err)
	}
}
