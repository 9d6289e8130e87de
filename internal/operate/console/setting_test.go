package console

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	was := zone.Defaults("Z")
	now := was
	now.PerMinute, now.Burst = 900, 5
	other := was
	other.MaxWaiting = 7
	same := was
	same.PerMinute = 700

	next, others := merge(other, was, now)
	want := other
	want.PerMinute, want.Burst = 900, 5
	if !next.Equal(want) || len(others) != 0 {
		t.Errorf("another setting was changed meanwhile: %+v %+v", next, others)
	}
	_, others = merge(same, was, now)
	if len(others) != 1 || others[0].Label != "Limit" || others[0].Was != "600 a minute" || others[0].Now != "700 a minute" {
		t.Errorf("the same setting was: %+v", others)
	}
	if _, others = merge(now, was, now); len(others) != 2 {
		t.Errorf("made before: %+v", others)
	}
}

// TestChangesHaveNames: two changes of one millisecond, and two that set the same, are told apart.
func TestChangesHaveNames(t *testing.T) {
	t.Parallel()
	a := zone.Defaults("Z")
	b := a
	b.PerMinute = 900
	record := []zone.Change{{AtMillis: 2, Was: &a, Now: &b}, {AtMillis: 2, Was: &b, Now: &a}, {AtMillis: 1, Was: &a, Now: &b}}
	ids := map[string]bool{}
	for _, c := range record {
		id := changeID(c)
		if found, ok := findChange(record, id); !ok || found != c || ids[id] {
			t.Errorf("two changes are named %s", id)
		}
		ids[id] = true
	}
	if _, ok := findChange(record, ""); ok {
		t.Error("found nothing")
	}
}
