package split

import (
	"slices"
	"testing"

	"github.com/openqueue/waitingroom/internal/window"
)

// ten are rates of 10 in 6 s.
var ten = window.RatesOf(zoneOf(100, 6))

// crowded is the report of a part with many waiting.
func crowded(part int, used int64, ages ...int64) report {
	return report{part: part, epoch: 1, used: used, ages: ages, heads: []int64{1}, stride: 100}
}

// lends checks what the ledger lets a part hold beyond what it reports.
func lends(t *testing.T, l *ledger, now int64, r report, want int64) offer {
	t.Helper()
	o := l.exchange(now, r)
	if got := o.allowance - o.recorded; got != want {
		t.Errorf("at %d part %d may admit %d more, want %d", now, r.part, got, want)
	}
	return o
}

func TestReportedUseLeavesTheWindow(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	// Six used, 100 to 600 ms ago; four are still lent, so there is no more.
	lends(t, l, 1700, crowded(0, 6, 600, 500, 400, 300, 200, 100), 4)
	lends(t, l, 1710, crowded(1, 0), 0)
	// The same report once more changes nothing.
	lends(t, l, 1720, crowded(0, 6, 620, 520, 420, 320, 220, 120), 4)
	if want := []int64{1100, 1200, 1300, 1400, 1500, 1600}; !slices.Equal(l.log, want) {
		t.Errorf("on record %v, want %v", l.log, want)
	}
	// The first is out of the window when it is older than that.
	lends(t, l, 2700, report{part: 0, epoch: 1, used: 6}, 4) // nobody waits there, but an offer may hold
	lends(t, l, 7100, crowded(1, 0), 0)
	lends(t, l, 7101, crowded(1, 0), 1)
}

func TestLeaseEndsUnreported(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	for _, now := range []int64{1001, 2000, 2001, 8000} {
		lends(t, l, now, crowded(1, 0), 0)
	}
	// It may have been used up to 2000.
	lends(t, l, 8001, crowded(1, 0), 10)
}

func TestNewEpochLeavesTheOldLent(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 1)
	lends(t, l, 1000, crowded(0, 0), 10)
	again := crowded(0, 0)
	again.epoch = 2
	lends(t, l, 1100, again, 0)
	if o := l.exchange(1200, crowded(0, 3, 1, 1, 1)); o.number != 0 {
		t.Errorf("the old epoch was lent %+v", o)
	}
	lends(t, l, 8000, again, 0)
	lends(t, l, 8001, again, 10)
}

func TestOffersThatMayHold(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	// Nobody waits there any more, so it is offered nothing; until it says
	// that it has the offer, the first may hold.
	empty := report{part: 0, epoch: 1}
	o := lends(t, l, 1100, empty, 0)
	lends(t, l, 1110, crowded(1, 0), 0)
	empty.accepted = o.number
	lends(t, l, 1200, empty, 0)
	lends(t, l, 1210, crowded(1, 0), 10)
}

func TestLedgerThatLostItsWrites(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	earlier := l.clone()
	lends(t, l, 1000, crowded(0, 0), 10)
	l.lose(1100, earlier)
	// What it lent may be used up to 2000 at the latest; it counts up to 2100.
	for _, now := range []int64{1101, 2000, 8100} {
		lends(t, l, now, crowded(1, 0), 0)
	}
	lends(t, l, 8101, crowded(1, 0), 10)
}

// A part stops before the ledger takes its share for used, however late the
// offer came.
func TestPartStopsFirst(t *testing.T) {
	t.Parallel()
	for _, late := range []int64{0, 500, 989, 5000} {
		p := &part{rates: ten, parts: 1, epoch: 1, skew: 777}
		told := p.report(1000)
		p.accept(offer{epoch: 1, number: 1, allowance: 5}, told.clock)
		now := 1000 + late
		if got, want := p.room(now), int64(5); late < 990 && got != want {
			t.Errorf("%d ms after the report there is room for %d, want %d", late, got, want)
		}
		if got := p.room(max(now, 1000+990)); got != 0 {
			t.Errorf("%d ms after the report, at the end of the lease, there is room for %d", late, got)
		}
	}
}

func TestOldOffersAreRefused(t *testing.T) {
	t.Parallel()
	p := &part{rates: ten, parts: 1, epoch: 2}
	p.accept(offer{epoch: 2, number: 4, allowance: 7}, 0)
	p.accept(offer{epoch: 2, number: 3, allowance: 99}, 0)
	p.accept(offer{epoch: 2, number: 4, allowance: 99}, 0)
	p.accept(offer{epoch: 1, number: 9, allowance: 99}, 0)
	if p.allowance != 7 || p.accepted != 4 {
		t.Errorf("allowance %d by offer %d, want 7 by 4", p.allowance, p.accepted)
	}
	p.restart(0)
	if p.room(1) != 0 || p.epoch != 3 {
		t.Errorf("after a restart there is room for %d in epoch %d", p.room(1), p.epoch)
	}
}

// The oldest arrivals come first, over all parts.
func TestShare(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 3)
	l.parts[0] = lent{heads: []int64{10, 40, 70}, stride: 5}
	l.parts[1] = lent{heads: []int64{20, 30}, stride: 5}
	for n, want := range map[int64][3]int64{
		0: {0, 0, 0}, 3: {3, 0, 0}, 7: {5, 2, 0}, 15: {5, 10, 0}, 18: {8, 10, 0}, 100: {15, 10, 0},
	} {
		for part := range 3 {
			if got := l.share(part, n); got != want[part] {
				t.Errorf("of %d part %d gets %d, want %d", n, part, got, want[part])
			}
		}
	}
}
