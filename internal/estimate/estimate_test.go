package estimate

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
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

// TestTheFlowIsMeasured: people enter at nine tenths of the pace, as slots are free for a while. A pause, an outage, and that
// hardly anybody is there at the end of a crowd, say nothing about that.
func TestTheFlowIsMeasured(t *testing.T) {
	t.Parallel()
	m := new(Model)
	// learn shows the line as it is after so many seconds, at a time that much later.
	learn := func(second, later int64, change func(*line.Sample)) *Table {
		s := rush(400, second, nobody)
		s.Admitted, s.State.Live, s.State.Released = 1+second*9/10, 20, 20
		s.State.EdgeMicros += 20
		s.State.NowMillis, s.FirstMillis, s.SlotMillis = s.State.NowMillis+later, s.FirstMillis+later, s.FirstMillis+later+20_000
		for i := range s.Line {
			s.Line[i].PolledMillis += later
		}
		change(&s)
		return m.Learn(s, time.Minute)
	}
	as := func(*line.Sample) {}
	used := func(when string) {
		t.Helper()
		if got := m.flow.used(); got < 0.88 || got > 0.92 {
			t.Errorf("used %.3f %s", got, when)
		}
	}
	for second := int64(1); second <= 125; second++ {
		learn(second, 0, as)
	}
	used("after two minutes")
	was := tell(m.table, 330, 125).EstimateMillis
	for pause := range int64(901) {
		held := learn(125, 1000*pause, func(s *line.Sample) { s.Pace = 0 })
		within(t, "in a pause", int64(pointAt(held.points, 1000*began+330).entry)-held.at, was*9/10, was*11/10)
	}
	for second := int64(126); second <= 250; second++ {
		learn(second, 901_000+second/200*60_000, as) // an outage of a minute
	}
	used("after a pause and an outage")
	for second := int64(251); second <= 320; second++ {
		learn(second, 961_000, func(s *line.Sample) { s.Admitted, s.State.Live = 240, 1 })
	}
	used("at the end of the crowd")
}

func TestHalfHaveLeft(t *testing.T) {
	t.Parallel()
	a := tell(after(new(Model), 400, 75, half), 360, 75)
	within(t, "the wait", a.EstimateMillis, 105_000, 152_000) // 142 s, if nobody leaves from now on
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

// afterLeavers is after, where every second one leaves and the front passes over them: two places a second. Who
// has left stays in the line for a minute.
func afterLeavers(m *Model, n int, seconds int64, gone func(int, int64) bool) (t *Table) {
	for at := int64(1); at <= seconds; at++ {
		s, all := rush(n, at, gone), rush(n, 0, gone)
		s.Line, s.FrontMicros = s.Line[:0], int64(1000*began)+2*at
		s.State.EdgeMicros = s.FrontMicros
		for i, v := range all.Line {
			last := at - at%4
			for last > 0 && gone(i, last) {
				last -= 4
			}
			v.PolledMillis = began + 1000*last
			if int64(i) >= 2*at || i%2 == 1 {
				s.Line = append(s.Line, v)
			}
		}
		s.State.Waiting = int64(len(s.Line))
		t = m.Learn(s, time.Minute)
	}
	return t
}

// TestByTimeOrByShare: whether people go after a time, wherever they stand, or after a share of their
// wait is seen in where they are missing. The next crowd is expected to do as this one.
func TestByTimeOrByShare(t *testing.T) {
	t.Parallel()
	soon := func(place int, second int64) bool { return place%2 == 1 && second >= int64(5+place*7%20) }
	evenly := func(place int, second int64) bool { return place%2 == 1 && 200*second >= int64(place*(place*37%100)) }
	byTime, byShare := new(Model), new(Model)
	a := tell(afterLeavers(byTime, 400, 80, soon), 360, 80)
	afterLeavers(byShare, 400, 60, evenly)
	if byTime.hazard.timed < 0.9 || byShare.hazard.timed > 0.1 {
		t.Errorf("by time counts %g where they go after a time, and %g where after a share", byTime.hazard.timed, byShare.hazard.timed)
	}
	within(t, "all have left who will: 100 stay of the 200 ahead", a.EstimateMillis, 79_000, 107_000)
	byTime.Learn(line.Sample{}, time.Minute)
	again := tell(afterLeavers(byTime, 400, 3, soon), 330, 3)
	within(t, "half of the 324 will leave within 25 s", again.EstimateMillis, 140_000, 200_000)
}

// TestScatter: who left in between left once, where the hazard has it, and was there before.
func TestScatter(t *testing.T) {
	t.Parallel()
	var cells [4]cell
	scatter(cells[:], []float64{0, 1, 1, 1, 4}, 0, 0, 40, 2, func(b int) float64 { return float64(10 * b) })
	all := cell{}
	for _, c := range cells {
		all.add(c, 1)
	}
	if all.events < 1.999 || all.events > 2.001 || cells[3].events < 2.5*cells[0].events || cells[1].events > 0.1 {
		t.Errorf("%+v", cells)
	}
	if cells[0].exposure < cells[1].exposure || cells[3].exposure > cells[2].exposure || all.exposure > 8 {
		t.Errorf("was there: %+v", cells)
	}
}

// TestRangesNarrow: where all comes as it was told, a range becomes narrow, and still holds it.
func TestRangesNarrow(t *testing.T) {
	t.Parallel()
	a := tell(after(new(Model), 400, 200, nobody), 390, 200)
	within(t, "the lower end", a.LowMillis, 185_000, 190_000)
	within(t, "the upper end", a.HighMillis, 190_000, 195_000)
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

// TestSteadyWhileItLearns: between two polls the told time of entry moves by no more than a tenth of the wait,
// though a new zone takes some for gone at first who stay.
func TestSteadyWhileItLearns(t *testing.T) {
	t.Parallel()
	m := new(Model)
	var was int64
	next, polls := int64(2), 0
	for at := int64(1); at < 120; at++ {
		table := m.Learn(rush(400, at, nobody), time.Minute)
		if at < next {
			continue
		}
		is := tell(table, 330, at).EstimateMillis + 1000*at
		if polls > 0 {
			within(t, "the time of entry", is-was, -33_000, 33_000)
		}
		was, next, polls = is, at+min(4+at/2, 20), polls+1
	}
	within(t, "in the end", was, 314_000, 346_000)
}

// TestWrongMovesAtOnce: what was told is not kept where it is far too long.
func TestWrongMovesAtOnce(t *testing.T) {
	t.Parallel()
	most := func(place int, second int64) bool { return place%10 > 0 && second >= 5 }
	m := new(Model)
	before := tell(after(m, 400, 4, most), 330, 4).EstimateMillis
	var a line.Answer
	for at := int64(5); at <= 20; at++ {
		a = tell(m.Learn(rush(400, at, most), time.Minute), 330, at)
	}
	within(t, "told before", before, 240_000, 330_000)
	within(t, "15 s later", a.EstimateMillis, 5_000, 100_000)
}

// TestRangesHoldFourFifths: also where all waits lie on one side of what was told, and near it.
func TestRangesHoldFourFifths(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]float64{"both sides": -0.05, "sooner": -0.1, "later": 0} {
		q, held := [2]float64{-normal, normal}, 0
		for i := range 12_000 {
			z := from + 0.1*float64(i*7919%1000)/1000
			if i >= 10_000 && z >= q[0] && z <= q[1] {
				held++
			}
			learn(&q, z)
		}
		within(t, name+": of 2,000 held", int64(held), 1_500, 1_700)
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
	if table := new(Model).Learn(line.Sample{State: line.State{Waiting: 1, NowMillis: 1}, Line: make([]line.Seen, 1)}, time.Minute); table != nil {
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
		if !(p.entry >= began && p.low <= p.high && p.high < began+86_400_000) { // nor NaN
			t.Fatalf("%+v", p)
		}
	}
}

// TestTellAllocatesNothing: it is in the way of every poll.
func TestTellAllocatesNothing(t *testing.T) {
	table := after(new(Model), 400, 5, nobody)
	if n := testing.AllocsPerRun(100, func() { tell(table, 330, 6) }); n > 1 { // rush makes the one
		t.Errorf("%g allocations", n)
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
		a := line.Answer{Status: line.Waiting, Position: 1, EstimateMillis: millis, State: s}
		t2 := *table
		t2.front = 1000*began + 6 // it stands before the line of the table
		t2.Tell(&a, int64(1000*began+3))
		if a.LowMillis <= 0 || a.LowMillis > millis || a.HighMillis != window.MaxEstimateMillis {
			t.Errorf("told %d: %d to %d", millis, a.LowMillis, a.HighMillis)
		}
	}
}
