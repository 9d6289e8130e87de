package zones

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
)

func idOf(letter byte) line.ID { return line.ID{letter} }

// answers has the store say to the next visitors that they have a place, or an
// admission, at a time, and that it noticed a loss last at another.
func (f *fakeStore) answers(a line.Answer, nowMillis, lostAtMillis int64) {
	f.do(func() {
		a.State = line.State{NowMillis: nowMillis, LastArrivalMicros: nowMillis * 1000, Epoch: 9, LostAtMillis: lostAtMillis}
		f.answer = a
	})
}

// hears has a server hear of zone a at a time, and that its store noticed a loss last at another.
func (f *fakeStore) hears(t *testing.T, r *Zones, nowMillis, lostAtMillis int64) {
	t.Helper()
	f.answers(line.Answer{Status: line.Waiting}, nowMillis, lostAtMillis)
	if _, err := r.Stats(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
}

// polls has one poll in zone a.
func polls(t *testing.T, r *Zones, p line.Place) line.Told {
	t.Helper()
	a, err := r.Poll(t.Context(), "a", p)
	parts.Must(t, err)
	return a
}

// leaves has one leave zone a.
func leaves(t *testing.T, r *Zones, p line.Place) {
	t.Helper()
	parts.Must(t, r.Leave(t.Context(), "a", p))
}

func (f *fakeStore) told() []line.Departure {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.departed
	f.departed = nil
	slices.SortFunc(all, func(a, b line.Departure) int { return int(a.Place.ID[0]) - int(b.Place.ID[0]) })
	return all
}

// TestALateAnswer: one that was given before a loss, and comes after one from then, changes nothing: the loss is no new
// one when it is heard of again. A store whose clock is behind has lost its data again all the same.
func TestALateAnswer(t *testing.T) {
	f := newFakeStore(settings("a", 10))
	r, clock := newTest(t, f, Options{})
	f.hears(t, r, 1_000_000, 0)
	f.answers(line.Answer{Status: line.Admitted, AdmittedAtMillis: 1_000_000, Place: line.Place{ID: idOf('x')}}, 1_000_000, 0)
	polls(t, r, line.Place{ID: idOf('x')})
	f.hears(t, r, 1_002_000, 1_002_000)
	tellOnce(t, r)
	if n := len(f.told()); n != 1 {
		t.Fatalf("told of %d departures after the loss, want 1", n)
	}
	for _, heard := range [][2]int64{{1_001_900, 0}, {1_002_100, 1_002_000}} {
		f.hears(t, r, heard[0], heard[1])
		tellOnce(t, r)
		if n := len(f.told()); n != 0 {
			t.Errorf("told again after an answer of %d", heard[0])
		}
	}
	clock.Forward(time.Minute)
	f.hears(t, r, 1_001_000, 1_001_000)
	if got := r.Known("a").lostAt.Load(); got != 1_001_000 {
		t.Errorf("the last loss that was heard of is %d", got)
	}
}

// TestDeparturesAreTold: to a store that has lost its data before anybody's poll, and
// to one that noticed a loss by itself at the next reading; once each.
func TestDeparturesAreTold(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	in := line.Answer{Status: line.Admitted, Place: line.Place{ID: idOf('i'), ArrivedAtMicros: 5}, AdmittedAtMillis: 1_000, ExpiresAtMillis: 11_000}
	f.answers(in, 1_000, 0)
	polls(t, r, in.Place)
	f.answers(line.Answer{Status: line.AdmittedBefore, Place: in.Place, AdmittedAtMillis: 1_000}, 2_000, 0)
	if _, err := r.Join(t.Context(), "a", in.Place.ID); err != nil {
		t.Fatal(err)
	}
	left := line.Place{ID: idOf('l'), ArrivedAtMicros: 7}
	leaves(t, r, left)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 0 {
		t.Fatalf("told %+v, and nothing was lost", got)
	}
	// After an admission no place comes back that was given out before. Whoever left gave up one place.
	want := []line.Departure{
		{Place: line.Place{ID: idOf('i'), ArrivedAtMicros: 1_000_000, Epoch: 9}, AdmittedAtMillis: 1_000, ExpiresAtMillis: 11_000},
		{Place: line.Place{ID: idOf('l'), ArrivedAtMicros: 7, Epoch: 9}},
	}

	f.lose()
	f.answers(line.Answer{Status: line.Waiting, Place: line.Place{ID: idOf('w'), ArrivedAtMicros: 9}}, 3_000, 3_000)
	f.counted()
	f.before = func(call, _ string) {
		if f.before = nil; call == "Poll" {
			f.before = func(call, _ string) {
				if call == "Poll" && len(f.departed) != len(want) {
					t.Error("somebody polled before the store was told")
				}
			}
		}
	}
	polls(t, r, line.Place{ID: idOf('w')})
	f.before = nil
	if got := f.told(); !slices.Equal(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
	r.tellOnce(t.Context()) // the loss is news by its time, too
	f.told()
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 0 {
		t.Errorf("told again: %+v", got)
	}

	// A fail-over: the store has the zone, and noticed that it may lack something.
	f.answers(line.Answer{Status: line.Waiting, Place: line.Place{ID: idOf('w'), ArrivedAtMicros: 9}}, 4_000, 4_000)
	if _, err := r.Stats(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	f.do(func() { f.away = true })
	r.tellOnce(t.Context())
	f.do(func() { f.away = false })
	r.tellOnce(t.Context())
	if got := f.told(); !slices.Equal(got, want) {
		t.Errorf("after a fail-over, told %+v, want %+v", got, want)
	}
}

// TestDeparturesOfAnOutage: who was admitted without the store is told, and nothing
// vouches any more for the token of one who departed.
func TestDeparturesOfAnOutage(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	p := line.Place{ID: idOf('x'), ArrivedAtMicros: 3}
	if _, ended := r.departedBefore("a", p); ended {
		t.Error("departed before it did")
	}
	r.depart("a", line.Departure{Place: p, AdmittedAtMillis: 1_500})
	d, ended := r.departedBefore("a", p)
	_, later := r.departedBefore("a", line.Place{ID: p.ID, ArrivedAtMicros: 1_000_001})
	_, elsewhere := r.departedBefore("b", p)
	if !ended || d.AdmittedAtMillis != 1_500 || later || elsewhere {
		t.Error("it is not known who departed, or a later place of the same visitor counts as departed")
	}
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 0 {
		t.Errorf("told %+v, before the zone's clock was there", got)
	}
	f.hears(t, r, 2_000, 0)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 1 || got[0].AdmittedAtMillis != 1_500 {
		t.Errorf("told %+v", got)
	}
}

// TestADepartureWhileTheStoreIsTold is told after that: the store is back, and this
// server has not noticed yet.
func TestADepartureWhileTheStoreIsTold(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	depart := func(letter byte) {
		r.depart("a", line.Departure{Place: line.Place{ID: idOf(letter), ArrivedAtMicros: 3}, AdmittedAtMillis: 900})
	}
	depart('x')
	f.before = func(call, _ string) {
		if call == "Recall" {
			f.before = nil
			depart('y')
		}
	}
	r.tellOnce(t.Context())
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 2 {
		t.Errorf("told %+v, want both, once each", got)
	}
	if m := r.Known("a").lost(); m.Epoch != 9 || m.SeenAtMillis != 2_000 || m.LastArrivalMicros != 1_000_000 {
		t.Errorf("remembered %+v", m)
	}
}

// TestAStoreThatLosesAllWhileItIsTold is told from the beginning after that.
func TestAStoreThatLosesAllWhileItIsTold(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	z := r.Known("a")
	r.depart("a", line.Departure{Place: line.Place{ID: idOf('x'), ArrivedAtMicros: 3}, AdmittedAtMillis: 900})
	z.told.Store(0)
	z.lostAt.Store(1)
	anew := make(chan error)
	f.before = func(call, _ string) {
		if call != "Recall" {
			return
		}
		f.before = nil
		go func() { anew <- r.recallAnew(t.Context(), z) }()
		for z.told.Load() != untold {
			runtime.Gosched()
		}
	}
	parts.Must(t, errors.Join(r.recall(t.Context(), z), <-anew))
	if got := f.told(); len(got) != 2 || !z.toldAll() {
		t.Errorf("told %+v, want the departure twice", got)
	}
}

// TestDeparturesAreBounded: by time, and in number.
func TestDeparturesAreBounded(t *testing.T) {
	var ds departures
	add := func(letter byte, at int64, full bool) bool {
		return ds.add(departure{Departure: line.Departure{Place: line.Place{ID: idOf(letter), ArrivedAtMicros: at*1000 + 1}}, atMillis: at}, full)
	}
	add('a', 0, false)
	add('b', 1_000, false)
	add('a', 2_000, false) // joined anew, and left again
	ds.prune(1_001, 0)
	wantIDs := func(want ...line.ID) {
		t.Helper()
		all, _, _ := ds.from(0, math.MaxInt64)
		if !slices.EqualFunc(all, want, func(d line.Departure, id line.ID) bool { return d.Place.ID == id }) {
			t.Errorf("remembered %+v, want %v", all, want)
		}
	}
	wantIDs(idOf('a'))
	if add('c', 3_000, false) || !add('d', 4_000, true) {
		t.Error("a departure was forgotten while there was room, or none when there was not")
	}
	wantIDs(idOf('c'), idOf('d'))
	p := line.Place{ID: idOf('e'), ArrivedAtMicros: 1}
	ds.add(departure{Departure: line.Departure{Place: p, AdmittedAtMillis: 1_000, ExpiresAtMillis: 3_601_000}, atMillis: 4_500}, false)
	ds.prune(3_000_000, 3_600_999)
	if d, ok := ds.find(p); !ok || d.ExpiresAtMillis != 3_601_000 {
		t.Errorf("%+v is remembered of a good pass", d)
	}
	if ds.prune(3_000_000, 3_601_000); ds.byID != nil || ds.order != nil {
		t.Error("memory is not given back")
	}
}

// TestTheStoreIsToldInParts: what it took is not told again when the next part fails; after another loss, all is.
func TestTheStoreIsToldInParts(t *testing.T) {
	const departed = 2*tellAtOnce + 5
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	for i := range departed {
		r.depart("a", line.Departure{Place: line.Place{ID: line.ID{1, byte(i >> 16), byte(i >> 8), byte(i)}}, AdmittedAtMillis: 900})
	}
	for _, lostAt := range []int64{1_001, 1_002} {
		f.hears(t, r, 1_003, lostAt)
		calls := 0
		f.before = func(call, _ string) {
			if call == "Recall" {
				calls++
				f.do(func() { f.away = calls%2 == 0 })
			}
		}
		for _, want := range []int{tellAtOnce, tellAtOnce, 5, 0} {
			r.tellOnce(t.Context())
			f.do(func() { f.away = false })
			if got := f.told(); len(got) != want {
				t.Errorf("told %d, want %d", len(got), want)
			}
			calls = 0
		}
	}
}

// TestAZoneThatCannotBeToldHoldsNobodyUp: its node hangs. A change made in another zone is in force within a second, and the
// store is told of another's departures.
func TestAZoneThatCannotBeToldHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore(settings("hangs", 60), settings("lives", 60))
		r := New(Options{Store: f})
		f.answers(line.Answer{Status: line.Waiting}, 1_000, 0)
		answers := make(chan struct{})
		f.before = func(call, zoneID string) {
			if call == "Recall" && zoneID == "hangs" {
				<-answers
			}
		}
		r.Start(t.Context())
		defer r.Stop()
		defer close(answers)
		for _, id := range []string{"hangs", "lives"} {
			if _, err := r.Stats(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		depart := func(zoneID string) {
			r.depart(zoneID, line.Departure{Place: line.Place{ID: idOf('x'), ArrivedAtMicros: 3}, AdmittedAtMillis: 900})
		}
		depart("hangs")
		<-time.After(time.Second)
		f.do(func() { f.zones["lives"] = settings("lives", 0) })
		depart("lives")
		<-time.After(time.Second)
		if got := r.Settings("lives"); got.PerMinute != 0 {
			t.Errorf("a second after a pause, %d a minute", got.PerMinute)
		}
		if got := f.told(); len(got) != 1 {
			t.Errorf("told %+v, want the departure of the zone that lives", got)
		}
	})
}

// TestADepartureIsToldThoughItsPlaceStandsAgain: after a loss another server's visitor put the
// place back. That is no place taken anew, before the store was told.
func TestADepartureIsToldThoughItsPlaceStandsAgain(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.hears(t, r, 1_000, 0)
	left := line.Place{ID: idOf('l'), ArrivedAtMicros: 7}
	leaves(t, r, left)
	poll := func(lostAtMillis int64) {
		t.Helper()
		f.answers(line.Answer{Status: line.Waiting, Place: left}, 2_000, lostAtMillis)
		polls(t, r, left)
	}
	poll(1_500)
	r.tellOnce(t.Context())
	if got := f.told(); len(got) != 1 || got[0].Place.ArrivedAtMicros != left.ArrivedAtMicros {
		t.Errorf("told %+v, want that the place does not come back", got)
	}
	// Told, and there all the same: it joined anew.
	poll(1_500)
	if _, ended := r.departedBefore("a", left); ended {
		t.Error("one who joined anew counts as departed")
	}
}

// tellOnce tells the store of zone a what it may have lost.
func tellOnce(t *testing.T, r *Zones) {
	t.Helper()
	parts.Must(t, r.recall(t.Context(), r.Known("a")))
}
