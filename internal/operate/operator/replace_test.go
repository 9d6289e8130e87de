package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestReplaceSetsOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := r.service
	was := r.put(t, "Z")
	now := was
	now.PerMinute = 900
	parts.Must(t, s.Replace(t.Context(), was, now, audit.By{Name: "Anna"}))
	if got := r.zone(t, "Z"); !got.Equal(now) {
		t.Errorf("got %+v, want %+v", got, now)
	}
	changes, err := s.Changes(t.Context(), "Z", 1)
	parts.Must(t, err)
	if len(changes) != 1 || changes[0].Name != "Anna" || !changes[0].Was.Equal(was) || !changes[0].Now.Equal(now) {
		t.Errorf("record: %+v", changes)
	}
	third := was
	third.Burst = 5
	if err := s.Replace(t.Context(), was, third, audit.By{Name: "Bea"}); !errors.Is(err, line.ErrZoneChanged) || !r.zone(t, "Z").Equal(now) {
		t.Errorf("from what it is no more: %v, %+v", err, r.zone(t, "Z"))
	}
	third.Mode = "ajar"
	if err := s.Replace(t.Context(), now, third, audit.By{Name: "Bea"}); !errors.Is(err, zone.ErrInvalid) || !strings.Contains(err.Error(), "ajar") {
		t.Errorf("an invalid one: %v", err)
	}
}
