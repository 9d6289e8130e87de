package estimate

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const began = 1_800_000_000_000

// rush is a line of n who came at once and were told to poll after 4 s each time; gone says who
// has left at a time, by place. 60 a minute enter, one each second from the first on.
func rush(n int, seconds int64, gone func(place int, second int64) bool) line.Sample {
	now := began + 1000*seconds
	s := line.Sample{
		State: line.State{NowMillis: now, Waiting: int64(n) - seconds, EdgeMicros: 1000*began + seconds, Released: 1, WindowLimit: 10},
		Pace:  60, FirstMillis: now, SlotMillis: now + 1000, Coming: 1, Admitted: 1 + seconds, GraceMillis: 1000,
		FrontMicros: 1000*began + seconds,
	}
	for i := int(seconds); i < n; i++ {
		last := seconds - seconds%4
		for last > 0 && gone(i, last) {
			last -= 4
		}
		s.Line = append(s.Line, line.Seen{StandsAtMicros: int64(1000*began + i), PolledMillis: began + 1000*last, PeriodMillis: 4000})
	}
	return s
}

// after is the table after so many seconds of a rush.
func after(m *Model, n int, seconds int64, gone func(int, int64) bool) (t *Table) {
	for i := int64(1); i <= seconds; i++ {
		t = m.Learn(rush(n, i, gone), time.Minute)
	}
	return t
}

func nobody(int, int64) bool { return false }

// half of them leave after 10 s.
func half(place int, second int64) bool { return place%2 == 1 && second >= 10 }

// tell is what one is told at a place, so many seconds after all came.
func tell(t *Table, place int, seconds int64) line.Answer {
	s := rush(1, 0, nobody).State
	s.NowMillis = began + 1000*seconds
	a := line.Answer{Status: line.Waiting, Position: int64(place) + 1 - seconds, EstimateMillis: 1, State: s}
	t.Tell(&a, int64(1000*began+place))
	return a
}

func within(t *testing.T, what string, got, low, high int64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: %d, want %d to %d", what, got, low, high)
	}
}

func TestNobodyLeaves(t *testing.T) {
	t.Parallel()
	a := tell(after(new(Model), 400, 30, nobody), 330, 30)
	within(t, "the wait", a.EstimateMillis, 285_000, 305_000)
	within(t, "the range holds it", 300_000, a.LowMillis, a.HighMillis)
}

func TestHalfHaveLeft(t *testing.T) {
	t.Parallel()
	a := tell(after(new(Model), 400, 60, half), 360, 60)
	within(t, "the wait", a.EstimateMillis, 110_000, 160_000) // 150 s, if nobody leaves from now on
}

// TestEarlierCrowdsTeach: a zone that had such a crowd expects another such before anybody left.
func TestEarlierCrowdsTeach(t *testing.T) {
	t.Parallel()
	m := new(Model)
	fresh := tell(after(m, 400, 3, half), 330, 3)
	after(m, 400, 120, half)
	m.Learn(line.Sample{}, time.Minute)
	again := tell(after(m, 400, 3, half), 330, 3)
	if again.EstimateMillis >= fresh.EstimateMillis {
		t.Errorf("told %d ms in a new zone, %d where half left before", fresh.EstimateMillis, again.EstimateMillis)
	}
	quiet := new(Model)
	after(quiet, 400, 120, nobody)
	quiet.Learn(line.Sample{}, time.Minute)
	within(t, "where nobody ever left", tell(after(quiet, 400, 3, nobody), 330, 3).EstimateMillis, 290_000, 330_000)
}

// TestSteady: while all goes as expected, the told time of entry stays.
func TestSteady(t *testing.T) {
	t.Parallel()
	m := new(Model)
	was := tell(after(m, 400, 30, nobody), 330, 30).EstimateMillis + 30_000
	for at := int64(31); at < 90; at++ {
		is := tell(m.Learn(rush(400, at, nobody), time.Minute), 330, at).EstimateMillis + 1000*at
		within(t, "the time of entry", is-was, -2_000, 2_000)
		was = is
	}
}

// TestReasons: an operator's change is in the next answer, and why.
func TestReasons(t *testing.T) {
	t.Parallel()
	m := new(Model)
	before := tell(after(m, 400, 30, nobody), 330, 30)
	if before.Reason != line.NoReason {
		t.Errorf("before: %s", before.Reason)
	}
	change := func(at, pace int64) line.Answer {
		s := rush(400, at, nobody)
		s.Pace = pace
		if pace == 0 {
			s.SlotMillis += 86_400_000
		}
		return tell(m.Learn(s, time.Minute), 330, at)
	}
	faster := change(31, 120)
	within(t, "twice as fast", faster.EstimateMillis, before.EstimateMillis*4/10, before.EstimateMillis*6/10)
	held, resumed, slower := change(32, 0), change(33, 120), change(34, 60)
	within(t, "on hold", held.EstimateMillis, faster.EstimateMillis-5_000, faster.EstimateMillis+5_000)
	for i, a := range []line.Answer{faster, held, resumed, slower} {
		if want := []line.Reason{line.Faster, line.OnHold, line.Resumed, line.Slower}[i]; a.Reason != want {
			t.Errorf("%s, want %s", a.Reason, want)
		}
	}
	for at := int64(35); at < 100; at++ {
		slower = change(at, 60)
	}
	if slower.Reason != line.NoReason {
		t.Errorf("a minute later: %s", slower.Reason)
	}
}

// TestNothingKnown: the store's estimate goes as it is.
func TestNothingKnown(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]*Table{"no table": nil, "an old one": after(new(Model), 400, 5, nobody)} {
		if a := tell(table, 330, 60); a.EstimateMillis != 1 || a.HighMillis != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if table := new(Model).Learn(line.Sample{State: line.State{Waiting: 1, NowMillis: 1}, Line: make([]line.Seen, 1)}, time.Minute); table != nil {
		t.Error("a zone on hold, of which no pace is known, has a table")
	}
}

// TestTellAllocatesNothing: it is in the way of every poll.
func TestTellAllocatesNothing(t *testing.T) {
	table := after(new(Model), 400, 5, nobody)
	if n := testing.AllocsPerRun(100, func() { tell(table, 330, 6) }); n > 1 { // rush makes the one
		t.Errorf("%g allocations", n)
	}
}
