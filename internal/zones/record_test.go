package zones

import (
	"errors"
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWhoMadeAChange: the operator's name reaches the store; zones from the
// configuration are made in its name, and what is put back is in nobody's.
func TestWhoMadeAChange(t *testing.T) {
	for name, fresh := range map[string]bool{"fresh": true, "perhaps lost": false} {
		t.Run(name, func(t *testing.T) {
			f := newFakeStore()
			r := New(Options{Store: f, Seeds: []zone.Settings{settings("a", 1)}, SeedFresh: fresh})
			parts.Must(t, r.read(t.Context()))
			was := settings("a", 1)
			if _, err := r.PutZone(t.Context(), settings("a", 2), &was, audit.By{Name: "ada"}); err != nil {
				t.Fatal(err)
			}
			f.lose()
			if _, err := r.Join(t.Context(), "a", line.ID{}); err != nil { // heals
				t.Fatal(err)
			}
			parts.Must(t, r.DeleteZone(t.Context(), "a", audit.By{Name: "grace"}))
			var by []string
			all, err := r.Changes(t.Context(), "a")
			for _, c := range all {
				by = append(by, c.Name)
			}
			if want := []string{zone.ByConfig, "ada", "grace"}; err != nil || !slices.Equal(by, want) {
				t.Errorf("%q, %v, want %q", by, err, want)
			}
			f.do(func() { f.away = true })
			if _, err := r.Changes(t.Context(), ""); !errors.Is(err, line.ErrStoreUnavailable) {
				t.Errorf("of a store that is away: %v", err)
			}
		})
	}
}
