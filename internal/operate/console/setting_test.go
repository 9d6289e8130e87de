package console

import (
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/operate/change"
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

	next, others := merge(zone.Table, other, was, now)
	want := other
	want.PerMinute, want.Burst = 900, 5
	if !next.Equal(want) || len(others) != 0 {
		t.Errorf("another setting was changed meanwhile: %+v %+v", next, others)
	}
	_, others = merge(zone.Table, same, was, now)
	if len(others) != 1 || others[0].Label != "Limit" || others[0].Was != "600 a minute" || others[0].Now != "700 a minute" {
		t.Errorf("the same setting was: %+v", others)
	}
	if _, others = merge(zone.Table, now, was, now); len(others) != 2 {
		t.Errorf("made before: %+v", others)
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	a := zone.Defaults("Z")
	b := a
	b.PerMinute = 900
	c := b
	c.MaxWaiting, c.IdleTimeoutSeconds = 100, 90
	paused := c
	paused.PerMinute = 0
	one := func(was, now *zone.Settings, at int64) []entryOf[zone.Settings] {
		return []entryOf[zone.Settings]{{AtMillis: at, Name: "Z", By: "Anna", Was: was, Now: now}}
	}
	record := slices.Concat(one(&c, &paused, 4), one(&b, &c, 3), one(&a, &b, 2), one(nil, &a, 1))
	var got []string
	for _, e := range zoneEditor().entries(record, &paused) {
		got = append(got, e.Undo)
	}
	want := []string{"back to 900 a minute", "put back 2 settings", "", ""}
	if !slices.Equal(got, want) {
		t.Errorf("undo: %q, want %q", got, want)
	}
	if got := resumeTo(paused, record); got != 900 {
		t.Errorf("resume to %d, want 900", got)
	}
	if got := resumeTo(c, record[1:]); got != 0 {
		t.Errorf("never paused: resume to %d", got)
	}
	ids := map[string]bool{}
	for _, c := range slices.Concat(record, one(&a, &c, 2), one(&a, &b, 3)) {
		id := changeID(c)
		if found, ok := findChange(record, id); ok && found.AtMillis != c.AtMillis || ids[id] {
			t.Errorf("two changes are named %s", id)
		}
		ids[id] = true
	}
	if _, ok := findChange(record, ""); ok {
		t.Error("found nothing")
	}
}

// zoneEditor is a desk that knows zones, and changes none.
func zoneEditor() *editor[zone.Settings] {
	return &editor[zone.Settings]{table: zone.Table, blank: zone.Defaults, expand: change.Events}
}
