package zones

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// TestALossOntoAClockThatIsBehind: the store has lost everything, and the clock of the new one is 5 s behind. Whose
// admission is still to come there is told of it by the server which let them in; and the store is told as soon as it can
// know.
func TestALossOntoAClockThatIsBehind(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	admit := func(letter byte, nowMillis int64) line.Answer {
		t.Helper()
		a := line.Answer{
			Status: line.Admitted, Place: line.Place{ID: idOf(letter), ArrivedAtMicros: 5},
			AdmittedAtMillis: nowMillis, ExpiresAtMillis: nowMillis + 300_000, AheadMillis: 7,
		}
		f.answers(a, nowMillis, 0)
		polls(t, r, a.Place)
		return a
	}
	admit('e', 1_004_000) // in time to be known there
	in := admit('l', 1_010_000)
	left := line.Place{ID: idOf('x'), ArrivedAtMicros: 6}
	leaves(t, r, left)

	f.lose()
	gone := func(p line.Place, nowMillis int64) line.Told {
		t.Helper()
		f.answers(line.Answer{Status: line.Gone}, nowMillis, 1_005_000)
		return polls(t, r, p)
	}
	again := func(when string, nowMillis int64) {
		t.Helper()
		a := gone(in.Place, nowMillis)
		if a.Status != line.AdmittedBefore || a.Place.ID != in.Place.ID || a.AdmittedAtMillis != in.AdmittedAtMillis ||
			a.ExpiresAtMillis != in.ExpiresAtMillis || a.AheadMillis != in.AheadMillis {
			t.Errorf("%s: who was let in is told %+v", when, a)
		}
	}
	again("before the store was told", 1_005_000)
	if a := gone(left, 1_005_000); a.Status != line.Gone {
		t.Errorf("who left is told %+v", a)
	}
	f.told() // all at once, so that none of their places comes back

	f.do(func() { f.away = true })
	r.tellOnce(t.Context())
	f.do(func() { f.away = false })
	r.tellOnce(t.Context()) // the loss is news by its time, too, and a store that did not hear it is told again
	if got := f.told(); len(got) != 2 {
		t.Errorf("told %+v, want those of before 1,005,000", got)
	}
	again("while the store's clock is not there", 1_009_000)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 0 {
		t.Errorf("told %+v, and there is nothing new", got)
	}
	own := line.Departure{Place: line.Place{ID: idOf('o'), ArrivedAtMicros: 7}, AdmittedAtMillis: 1_009_000}
	r.depart("a", own)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 3 || got[1].Place.ID != own.Place.ID {
		t.Errorf("told %+v, want the admission that was made without the store", got)
	}
	again("as soon as it is there", 1_010_000)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 4 || got[1].AdmittedAtMillis != in.AdmittedAtMillis {
		t.Errorf("told %+v, want the admission whose time has come", got)
	}
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 0 {
		t.Errorf("told %+v again", got)
	}
	if a := gone(in.Place, 1_010_000); a.Status != line.Gone {
		t.Errorf("the store knows, and its answer %+v was replaced", a)
	}
}

// TestTwoLossesOntoAClockThatIsBehind: the line stood until now at the latest, by the clock of now. Else who has polled between
// the two would seem silent for as long as the clock is behind, and lose the place.
func TestTwoLossesOntoAClockThatIsBehind(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	const behind = int64(10 * time.Minute / time.Millisecond)
	f.hears(t, r, 2_000_000, 0)
	f.lose()
	f.hears(t, r, 2_000_100-behind, 2_000_100-behind)
	if got := f.memory["a"].SeenAtMillis; got != 2_001_000 {
		t.Errorf("at the first loss the line stood until %d, want when it was heard of last", got)
	}
	f.lose()
	f.hears(t, r, 2_000_200-behind, 2_000_200-behind)
	if got := f.memory["a"].SeenAtMillis; got != 2_001_100-behind {
		t.Errorf("at the second loss the line stood until %d, want %d by the clock of then", got, 2_001_100-behind)
	}
}
