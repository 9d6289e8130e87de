package embedded

import (
	"testing"
)

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

func TestLifetimes(t *testing.T) {
	t.Parallel()
	// Admissions up to 1,000 ms have a pass for a minute, those up to 2,000 ms for ten
	// seconds, later ones for five minutes.
	var l lifetimes
	l = l.replace(60_000, 10_000, 1_000)
	l = l.replace(10_000, 300_000, 2_000)

	of := func(at, want int64) {
		t.Helper()
		if got := l.of(at, 300_000); got != want {
			t.Errorf("a pass of %d lives %d ms, want %d", at, got, want)
		}
	}
	of(0, 60_000)
	of(1_000, 60_000)
	of(1_001, 10_000)
	of(2_000, 10_000)
	of(2_001, 300_000)
	if got := l.longest(300_000); got != 300_000 {
		t.Errorf("the longest is %d", got)
	}
	if got := l.longest(20_000); got != 60_000 {
		t.Errorf("the longest is %d", got)
	}

	// A pass of 1,000 expired at 61,000. If its ttl were forgotten then, the pass
	// would be good again with the ttl of five minutes.
	l = l.prune(300_000, 61_001)
	of(1_000, 60_000)
	l = l.prune(300_000, 1_001+300_000)
	if len(l) != 1 {
		t.Errorf("%d are remembered, want 1", len(l))
	}
	if l = l.prune(300_000, 2_001+300_000); l != nil {
		t.Errorf("%v are remembered, want none", l)
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
