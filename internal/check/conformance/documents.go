package conformance

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
)

// Documents has documents written, repeated and contested, with notes in two records, in one and in none.
func Documents(t *testing.T, s line.Keeper, clock *Clock) {
	t.Helper()
	ada := who(`<Ada "the \ first" O'Hara>, 川口`)
	first := line.Document{Version: 1, Text: `signed{"x":"<\\ 川"}`}
	second, other := line.Document{Version: 2, Text: "second"}, line.Document{Version: 2, Text: "other"}
	records := map[string][]string{audit.Operators: {audit.Operators, audit.Refusals}, audit.Limits: {audit.Limits}, ":webhook:shop": nil}
	var want []audit.Event // the newest first
	for i, tt := range []struct {
		put  line.Document
		was  int64
		want error
		has  line.Document
	}{
		{first, 0, nil, first},
		{first, 0, nil, first}, // its reply was lost
		{second, 0, line.ErrDocumentChanged, first},
		{second, 1, nil, second},
		{other, 1, line.ErrDocumentChanged, second},
	} {
		clock.Add(time.Second)
		did := audit.Event{By: ada, Did: tt.put.Text}
		for name, records := range records {
			var notes []line.Note
			for _, record := range records {
				notes = append(notes, line.NoteOf(record, []audit.Event{did})...)
			}
			if err := s.PutDocument(t.Context(), name, tt.put, tt.was, notes...); !errors.Is(err, tt.want) {
				t.Errorf("%s, %d: %v, want %v", name, i, err, tt.want)
			}
			if got, err := s.Document(t.Context(), name); err != nil || got != tt.has {
				t.Errorf("%s, %d: it is %+v, %v; want %+v", name, i, got, err, tt.has)
			}
		}
		if i == 0 || i == 3 { // what changed the documents
			did.AtMillis = clock.Now().UnixMilli()
			want = append([]audit.Event{did}, want...)
		}
	}
	for _, record := range slices.Concat(slices.Collect(maps.Values(records))...) {
		got, err := line.Noted(t.Context(), s, record, func(e *audit.Event, at int64) { e.AtMillis = at })
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the record %s is %+v, %v; want %+v", record, got, err, want)
		}
	}
	if got, err := s.Document(t.Context(), ":webhook:another"); err != nil || got != (line.Document{}) {
		t.Errorf("another document is %+v, %v", got, err)
	}
}
