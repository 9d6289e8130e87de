package conformance

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// use is one use of a key, by the model: a list that is looked through from the end.
type use struct {
	key, by string
	until   time.Time
}

// Spends drives the stores and a plain list with the same random calls of Spend.
func Spends(t *testing.T, open ...Open) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		clock := NewClock()
		var stores []store.Store
		for _, o := range open {
			stores = append(stores, o(t, clock.Now).Store)
		}
		var uses []*use
		latest := clock.Now()
		spend := func(t *rapid.T) {
			key, by := rapid.SampledFrom([]string{"a", "b}c", "pass:1"}).Draw(t, "key"), rapid.SampledFrom([]string{"Ada", "Bob", ""}).Draw(t, "by")
			life := rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, store.MaxSpendLife, 2 * store.MaxSpendLife}).Draw(t, "life")
			want := spends(&uses, clock.Now().Truncate(time.Millisecond), key, by, min(life, store.MaxSpendLife))
			for i, s := range stores {
				if first, err := s.Spend(t.Context(), key, by, life); err != nil || first != want {
					t.Fatalf("store %d: %q by %q for %v: %t, %v; want %t", i, key, by, life, first, err, want)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"spend": spend, "spend ": spend, "spend  ": spend,
			"time passes": func(t *rapid.T) {
				clock.Add(rapid.OneOf(
					rapid.SampledFrom([]time.Duration{time.Millisecond, time.Minute, time.Hour, store.MaxSpendLife}),
					rapid.Custom(func(t *rapid.T) time.Duration {
						return time.Duration(rapid.Int64Range(0, 2*time.Minute.Milliseconds()).Draw(t, "ms")) * time.Millisecond
					})).Draw(t, "time"))
				if clock.Now().After(latest) {
					latest = clock.Now()
				}
			},
			"an operator deletes the zone": func(t *rapid.T) {
				for _, s := range stores {
					_, err := s.PutZone(t.Context(), zone.Defaults("Z"), nil, audit.By{})
					if err = errors.Join(err, s.DeleteZone(t.Context(), "Z", audit.By{})); err != nil {
						t.Fatal(err)
					}
				}
			},
			"the clock is set back": func(t *rapid.T) {
				back := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, store.SpendSetBack}).Draw(t, "by")
				clock.Add(-min(back, store.SpendSetBack-latest.Sub(clock.Now())))
			},
		})
	})
}

// spends is what Spend does.
func spends(uses *[]*use, now time.Time, key, by string, life time.Duration) bool {
	for _, u := range slices.Backward(*uses) {
		if u.key != key {
			continue
		}
		if !now.Before(u.until) {
			break
		}
		return life > 0 && u.by == by
	}
	if life > 0 {
		*uses = append(*uses, &use{key: key, by: by, until: now.Add(life)})
	}
	return true
}

// Visits drives the stores and a map with the same random calls of Visit, and of Spend for the same keys.
func Visits(t *testing.T, open ...Open) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		clock := NewClock()
		var stores []store.Store
		for _, o := range open {
			stores = append(stores, o(t, clock.Now).Store)
		}
		known := map[string]store.Visit{}
		begin := clock.Now().UnixMilli()
		t.Repeat(map[string]func(*rapid.T){
			"visit": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"a", "b}c"}).Draw(t, "key")
				var v store.Visit
				if rapid.Bool().Draw(t, "tells") {
					after := func(what string) int64 { return begin + rapid.Int64Range(0, 5).Draw(t, what)*time.Hour.Milliseconds() }
					v = store.Visit{AtMillis: begin + rapid.Int64Range(0, 3).Draw(t, "at"), UntilMillis: after("until"), BegunMillis: after("begun")}
				}
				now := clock.Now().UnixMilli()
				if now >= known[key].UntilMillis+store.VisitKept.Milliseconds() {
					delete(known, key)
				}
				want := known[key].Newer(v)
				for i, s := range stores {
					if is, err := s.Visit(t.Context(), key, v); err != nil || is != want {
						t.Fatalf("store %d: %q, %+v: %+v, %v; want %+v", i, key, v, is, err, want)
					}
				}
				known[key] = want
				unspent := now >= want.UntilMillis+store.VisitKept.Milliseconds()
				for i, s := range stores {
					if first, err := s.Spend(t.Context(), key, "", 0); err != nil || first != unspent {
						t.Fatalf("store %d: %q of %+v could be spent: %t, %v", i, key, want, first, err)
					}
				}
			},
			"time passes": func(t *rapid.T) {
				clock.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour, store.VisitKept}).Draw(t, "time"))
			},
		})
		old := []bool{}
		for _, s := range stores { // as versions before 0.2 used a ticket
			first, err := s.Spend(t.Context(), "old", "", time.Hour)
			is, asked := s.Visit(t.Context(), "old", store.Visit{})
			if err = errors.Join(err, asked); err != nil {
				t.Fatal(err)
			}
			old = append(old, first && is == store.Visit{AtMillis: 1})
		}
		if slices.Contains(old, false) {
			t.Fatalf("a ticket that a version before has used: %t", old)
		}
	})
}

// SpendsOnce has many goroutines spend one key at once, as many spenders, and fails unless one of them is the first.
func SpendsOnce(t *testing.T, s store.Spender) {
	t.Helper()
	const spenders = 64
	answers := make(chan bool, spenders)
	for i := range spenders {
		go func() {
			first, err := s.Spend(t.Context(), "key", fmt.Sprint(i), time.Minute)
			if err != nil {
				t.Error(err)
			}
			answers <- first
		}()
	}
	firsts := 0
	for range spenders {
		if <-answers {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d of %d are the first", firsts, spenders)
	}
}
