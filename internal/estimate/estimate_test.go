package estimate

import (
	"math"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const began = 1_800_000_000_000

// rush is a line of n who came at once and were told to poll after 4 s each time; gone says who
// has left at a time, by place. 60 a minute enter, one each second from the first on.
func rush(n int, seconds int64, gone func(place int, second int64) bool) line.Observation {
	now := began + 1000*seconds
	s := line.Observation{
		Stats: line.Stats{State: line.State{NowMillis: now, Waiting: int64(n) - seconds, EdgeMicros: 1000*began + seconds, Released: 1, WindowLimit: 10}, Totals: line.Totals{Admitted: 1 + seconds}},
		Pace:  60, FirstMillis: now, SlotMillis: now + 1000, Coming: 1, GraceMillis: 1000,
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
func tell(t *Table, place int, seconds int64) line.Told {
	s := rush(1, 0, nobody).State
	s.NowMillis = began + 1000*seconds
	a := line.Answer{Status: line.Waiting, Position: int64(place) + 1 - seconds, WaitMillis: 1, State: s}
	return t.Tell(a, int64(1000*began+place))
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

// TestUpto: whoever stands at the last place whose turn is expected within a span is told that span.
func TestUpto(t *testing.T) {
	t.Parallel()
	table, now := after(new(Model), 400, 75, half), int64(began+75_000)
	for _, seconds := range []int64{20, 60, 100} {
		stands := table.Upto(now + 1000*seconds)
		within(t, "the wait there", tell(table, int(stands-1000*began), 75).EstimateMillis, 1000*seconds-1_500, 1000*seconds+1_500)
	}
	var nothing *Table
	held := *table
	held.held = true
	if all, none, paused, unknown := table.Upto(now+3_600_000), table.Upto(now-60_000), held.Upto(now+3_600_000), nothing.Upto(now); all != math.MaxInt64 || none != 0 || paused != 0 || unknown != 0 {
		t.Errorf("all %d, none %d, in a pause %d, without a table %d", all, none, paused, unknown)
	}
}

func TestHalfHaveLeft(t *testing.T) {
	t.Parallel()
	a := tell(after(new(Model), 400, 75, half), 360, 75)
	within(t, "the wait", a.EstimateMillis, 105_000, 152_000) // 142 s, if nobody leaves from now on
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

// TestWrongMovesAtOnce: what was told is not kept where it is far too long.
func TestWrongMovesAtOnce(t *testing.T) {
	t.Parallel()
	most := func(place int, second int64) bool { return place%10 > 0 && second >= 5 }
	m := new(Model)
	before := tell(after(m, 400, 4, most), 330, 4).EstimateMillis
	var a line.Told
	for at := int64(5); at <= 20; at++ {
		a = tell(m.Learn(rush(400, at, most), time.Minute), 330, at)
	}
	within(t, "told before", before, 240_000, 330_000)
	within(t, "15 s later", a.EstimateMillis, 5_000, 100_000)
}

// TestReasons: an operator's change is in the next answer, and why.
func TestReasons(t *testing.T) {
	t.Parallel()
	m := new(Model)
	before := tell(after(m, 400, 30, nobody), 330, 30)
	if before.Reason != line.NoReason {
		t.Errorf("before: %s", before.Reason)
	}
	change := func(at, pace int64) line.Told {
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
	for i, a := range []line.Told{faster, held, resumed, slower} {
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
	for at := int64(100); at < 110; at++ { // as many are inside as may be: the pace is measured, and nobody changed it
		s := rush(400, at, nobody)
		s.Pace, s.State.Full = 50+at%3, true
		if a := tell(m.Learn(s, time.Minute), 330, at); a.Reason != line.FullInside {
			t.Errorf("full: %s", a.Reason)
		}
	}
}

// TestReasonsOfACap: a change of the cap is said, whoever made it, and a small one, or one that holds nobody back, is not.
func TestReasonsOfACap(t *testing.T) {
	t.Parallel()
	m := new(Model)
	at := int64(30)
	for _, step := range []struct {
		maxInside int64
		full      bool
		after     int64
		want      line.Reason
	}{
		{100, true, 1, line.FullInside},
		{70, true, 1, line.Slower},
		{70, true, 10, line.Slower},
		{71, true, 1, line.Slower},
		{71, true, 60, line.FullInside},
		{78, true, 1, line.Faster},
		{79, true, 80, line.FullInside},
		{40, true, 1, line.Slower},
		{0, false, 1, line.Faster},
		{0, false, 80, line.NoReason},
		{500, false, 1, line.NoReason},
		{200, false, 1, line.NoReason},
		{50, true, 1, line.Slower},
	} {
		var a line.Told
		for range step.after {
			at++
			s := rush(400, at, nobody)
			s.MaxInside, s.State.Full = step.maxInside, step.full
			a = tell(m.Learn(s, time.Minute), 330, at)
		}
		if a.Reason != step.want {
			t.Errorf("with a cap of %d, full %t: %s, want %s", step.maxInside, step.full, a.Reason, step.want)
		}
	}
}

// TestALossIsSaidOfALineThatWasKnown: a zone that begins, in a store that cannot tell it from one that was lost, says
// nothing of a loss.
func TestALossIsSaidOfALineThatWasKnown(t *testing.T) {
	t.Parallel()
	for epoch, want := range map[int64]line.Reason{0: line.Recovering, 1: line.Recovering, 28: line.NoReason} {
		m := new(Model)
		after(m, 400, 28, nobody)
		s := rush(400, 30, nobody)
		began := s.State.NowMillis/1000 - 30
		s.State.Epoch, s.State.LostAtMillis = uint32(began+epoch), (began+28)*1000+700
		if got := tell(m.Learn(s, time.Minute), 330, 30).Reason; got != want {
			t.Errorf("a line of second %d, a loss in second 28: %q, want %q", epoch, got, want)
		}
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
	if table := new(Model).Learn(line.Observation{Stats: line.Stats{State: line.State{Waiting: 1, NowMillis: 1}}, Line: make([]line.Seen, 1)}, time.Minute); table != nil {
		t.Error("a zone on hold, of which no pace is known, has a table")
	}
}

// TestOddSamples: nothing that a store may say makes an estimate that is no number.
func TestOddSamples(t *testing.T) {
	t.Parallel()
	m := new(Model)
	for at := int64(1); at < 30; at++ {
		s := rush(400, at, half)
		for i := range s.Line {
			s.Line[i].PeriodMillis *= int64(i % 2)
			s.Line[i].PolledMillis -= int64(i%3) * 20_000 // before it came
		}
		s.SlotMillis -= 5_000 // before the next slot
		s.State.EdgeMicros += 20
		m.Learn(s, time.Minute)
	}
	for _, p := range m.table.points {
		if !(p.entry >= began && p.spread >= 0 && p.entry < began+86_400_000) { // nor NaN
			t.Fatalf("%+v", p)
		}
	}
}

// TestTurnIsNow: who is told no wait at all is told a range, too, so that it is judged.
func TestTurnIsNow(t *testing.T) {
	t.Parallel()
	if a := tell(after(new(Model), 400, 5, nobody), 4, 9); a.EstimateMillis != 0 || a.HighMillis < 1 {
		t.Errorf("%+v", a)
	}
}

// TestNeverMoreThanADay: the API promises so, for one who was told a slot, too.
func TestNeverMoreThanADay(t *testing.T) {
	t.Parallel()
	table := after(new(Model), 400, 5, nobody)
	for _, millis := range []int64{window.MaxEstimateMillis - 1, window.MaxEstimateMillis} {
		s := rush(1, 5, nobody).State
		answer := line.Answer{Status: line.Waiting, Position: 1, WaitMillis: millis, State: s}
		t2 := *table
		t2.front = 1000*began + 6 // it stands before the line of the table
		a := t2.Tell(answer, int64(1000*began+3))
		if a.LowMillis <= 0 || a.LowMillis > millis || a.HighMillis != window.MaxEstimateMillis {
			t.Errorf("told %d: %d to %d", millis, a.LowMillis, a.HighMillis)
		}
	}
}
