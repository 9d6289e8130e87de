package console

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestEverySettingIsInTheTable: one that is added to zone.Settings must be
// shown, or the record would not say that it changed.
func TestEverySettingIsInTheTable(t *testing.T) {
	t.Parallel()
	var want []string
	for f := range reflect.TypeFor[zone.Settings]().Fields() {
		if name := f.Tag.Get("json"); name != "zoneId" {
			want = append(want, name)
		}
	}
	var got []string
	for _, x := range settings {
		got = append(got, x.Name)
		if x.Label == "" || x.Hint == "" || x.say(zone.Defaults("Z")) == "" {
			t.Errorf("%s: no label, hint or words", x.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPutSetting(t *testing.T) {
	t.Parallel()
	find := func(name string) *setting[zone.Settings] {
		for i := range settings {
			if settings[i].Name == name {
				return &settings[i]
			}
		}
		t.Fatalf("no setting %s", name)
		return nil
	}
	tests := []struct {
		name, typed, want string
		ok                bool
	}{
		{"perMinute", "900", "900", true},
		{"perMinute", " 12,340 ", "12340", true},
		{"perMinute", "12 340", "12340", true},
		{"perMinute", "0", "0", true},
		{"perMinute", "6000000", "6000000", true},
		{"perMinute", "6000001", "", false},
		{"perMinute", "-1", "", false},
		{"perMinute", "1.5", "", false},
		{"perMinute", "", "", false},
		{"perMinute", "9e2", "", false},
		{"perMinute", "99999999999999999999", "", false},
		{"windowSeconds", "0", "", false},
		{"windowSeconds", "60", "60", true},
		{"idleTimeoutSeconds", "4", "", false},
		{"passTtlSeconds", "86400", "86400", true},
		{"mode", "closed", "closed", true},
		{"mode", "Closed", "", false},
		{"onStoreFailure", "admit", "admit", true},
		{"onStoreFailure", "", "", false},
	}
	for _, tt := range tests {
		s, x := zone.Defaults("Z"), find(tt.name)
		fault := x.put(&s, tt.typed)
		if (fault == "") != tt.ok {
			t.Errorf("%s %q: fault %q", tt.name, tt.typed, fault)
		}
		if tt.ok && x.Value(s) != tt.want {
			t.Errorf("%s %q: set to %q", tt.name, tt.typed, x.Value(s))
		}
		if !tt.ok && (s != zone.Defaults("Z") || !strings.HasPrefix(fault, x.Label+": ")) {
			t.Errorf("%s %q: %+v, fault %q", tt.name, tt.typed, s, fault)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s %q: %v", tt.name, tt.typed, err)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	was := zone.Defaults("Z")
	now := was
	now.PerMinute, now.Burst = 900, 5
	other := was
	other.MaxWaiting = 7
	same := was
	same.PerMinute = 700

	next, others := merge(settings, other, was, now)
	want := other
	want.PerMinute, want.Burst = 900, 5
	if next != want || len(others) != 0 {
		t.Errorf("another setting was changed meanwhile: %+v %+v", next, others)
	}
	_, others = merge(settings, same, was, now)
	if len(others) != 1 || others[0] != (difference{Name: "perMinute", Label: "Limit", Was: "600 a minute", Now: "700 a minute"}) {
		t.Errorf("the same setting was: %+v", others)
	}
	if _, others = merge(settings, now, was, now); len(others) != 2 {
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
	one := func(was, now *zone.Settings, at int64) []change[zone.Settings] {
		return []change[zone.Settings]{{AtMillis: at, Name: "Z", By: "Anna", Was: was, Now: now}}
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
	if got := resumeTo(record); got != 900 {
		t.Errorf("resume to %d, want 900", got)
	}
	if got := resumeTo(record[1:]); got != 0 {
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
	return &editor[zone.Settings]{
		table: func(...zone.Settings) []setting[zone.Settings] { return settings }, blank: zone.Defaults,
	}
}
