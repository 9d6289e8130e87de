package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/store"
)

// Credentials has a document of credentials written, repeated and contested.
func Credentials(t *testing.T, s store.Keeper) {
	t.Helper()
	document(t, s.Credentials, `signed{"x":"<\\ 川"}`, func(ctx context.Context, nth int, d store.Document, was int64) error {
		return s.PutCredentials(ctx, d, was, audit.Event{By: who("Ada"), Did: "created token", To: fmt.Sprint(nth)})
	})
	got, err := s.OperatorEvents(t.Context())
	for i, to := range []string{"3", "0"} { // what changed the document, the newest first
		if want := (audit.Event{By: who("Ada"), Did: "created token", To: to}); err != nil || len(got) != 2 || got[i].AtMillis == 0 ||
			got[i].By != want.By || got[i].Did != want.Did || got[i].To != want.To {
			t.Fatalf("the record is %+v, %v; want %+v at %d", got, err, want, i)
		}
	}
}

// document has a document written, repeated and contested, beginning with a text. put gets the number of the call.
func document(t *testing.T, get func(context.Context) (store.Document, error), text string, put func(ctx context.Context, nth int, d store.Document, was int64) error) {
	t.Helper()
	has := func(want store.Document) {
		t.Helper()
		if got, err := get(t.Context()); err != nil || got != want {
			t.Errorf("the document is %+v, %v; want %+v", got, err, want)
		}
	}
	has(store.Document{})
	first := store.Document{Version: 1, Text: text}
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
		if err := put(t.Context(), i, tt.put, tt.was); !errors.Is(err, tt.want) {
			t.Errorf("%d: %v, want %v", i, err, tt.want)
		}
		has(tt.has)
	}
}
