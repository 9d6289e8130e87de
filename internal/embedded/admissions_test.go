package embedded

import (
	"testing"
)

// TestAdmissions: the log finds and counts admissions by time, and an empty one holds no memory.
func TestAdmissions(t *testing.T) {
	t.Parallel()
	var a admissions
	ada, bob := testID(1), testID(2)
	a.add(ada, 100)
	a.add(bob, 100)
	a.add(ada, 200)

	for _, tt := range []struct{ since, want int64 }{{0, 3}, {100, 3}, {101, 1}, {200, 1}, {201, 0}} {
		if got := a.since(tt.since); got != tt.want {
			t.Errorf("since %d: %d, want %d", tt.since, got, tt.want)
		}
	}
	if at, ok := a.find(ada); at != 200 || !ok {
		t.Errorf("ada was let in at %d, %t, want the last time, 200", at, ok)
	}

	a.trim(100)
	if n := len(a.entries); n != 3 {
		t.Errorf("trimmed to what is not older than 100: %d left, want 3", n)
	}
	a.trim(101)
	if _, ok := a.find(bob); ok || len(a.entries) != 1 {
		t.Errorf("bob is known %t, and %d left, want false and 1", ok, len(a.entries))
	}
	if at, ok := a.find(ada); at != 200 || !ok {
		t.Errorf("ada was let in at %d, %t, want 200 still", at, ok)
	}
	a.trim(201)
	if a.entries != nil || a.byID != nil {
		t.Errorf("an empty log holds memory")
	}
}

func TestLifetimesAreBounded(t *testing.T) {
	t.Parallel()
	var l lifetimes
	for i := range int64(maxLifetimes + 5) {
		l = l.replace(300_000+i, 300_001+i, i)
	}
	if len(l) != maxLifetimes {
		t.Errorf("%d are remembered, want %d", len(l), maxLifetimes)
	}
	if got, want := l.of(maxLifetimes+4, 0), int64(300_000+maxLifetimes+4); got != want {
		t.Errorf("the newest is %d, want %d", got, want)
	}
}
