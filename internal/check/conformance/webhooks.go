package conformance

import (
	"errors"
	"testing"

	"github.com/openqueue/waitingroom/internal/store"
)

// Progress has the document of a webhook written, repeated and contested. That of another webhook stays.
func Progress(t *testing.T, s store.Webhooks) {
	t.Helper()
	first := store.Document{Version: 1, Text: `{"zones":{}}`}
	second, other := store.Document{Version: 2, Text: "second"}, store.Document{Version: 2, Text: "other"}
	for i, tt := range []struct {
		put  store.Document
		was  int64
		want error
		has  store.Document
	}{
		{first, 0, nil, first},
		{first, 0, nil, first}, // its reply was lost
		{second, 0, store.ErrDocumentChanged, first},
		{second, 1, nil, second},
		{other, 1, store.ErrDocumentChanged, second},
	} {
		if err := s.PutProgress(t.Context(), "shop", tt.put, tt.was); !errors.Is(err, tt.want) {
			t.Errorf("%d: %v, want %v", i, err, tt.want)
		}
		if got, err := s.Progress(t.Context(), "shop"); err != nil || got != tt.has {
			t.Errorf("%d: the document is %+v, %v; want %+v", i, got, err, tt.has)
		}
	}
	if got, err := s.Progress(t.Context(), "another"); err != nil || got != (store.Document{}) {
		t.Errorf("another webhook has %+v, %v", got, err)
	}
}
