package split

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

func zoneOf(perMinute, windowSeconds int64) zone.Settings {
	z := zone.Defaults("BIG")
	z.PerMinute, z.WindowSeconds = perMinute, windowSeconds
	return z
}

// ten are rates of 10 in 6 s.
var ten = window.RatesOf(zoneOf(100, 6))

// crowded is the report of a part with many waiting.
func crowded(part int, used int64) report {
	return report{part: part, life: int64(part) + 1, used: used, queue: queue{100, []int64{int64(part) * 100, int64(part)*100 + 99}}}
}

// lends checks what the ledger lets a part hold beyond what it reports.
func lends(t *testing.T, l *ledger, now int64, r report, want int64) offer {
	t.Helper()
	o := l.exchange(now, r)
	if got := o.allowance - r.used; got != want {
		t.Errorf("at %d part %d may admit %d more, want %d", now, r.part, got, want)
	}
	return o
}

func TestReportedUseLeavesTheWindow(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	// Six used; four are still lent, so there is no more.
	lends(t, l, 1700, crowded(0, 6), 4)
	lends(t, l, 1710, crowded(1, 0), 0)
	// The same report once more changes nothing, nor does an older one.
	lends(t, l, 1720, crowded(0, 6), 4)
	if o := l.exchange(1730, crowded(0, 2)); o.allowance != 10 {
		t.Errorf("by an old report part 0 may admit up to %d, want 10", o.allowance)
	}
	lends(t, l, 2600, report{part: 0, life: 1, used: 6}, 0) // nobody waits there, but an offer may hold
	lends(t, l, 2610, crowded(1, 0), 0)
	// That has ended, and counts as used when the ledger sees that.
	lends(t, l, 3601, crowded(1, 0), 0)
	// The six are out of the window when they are older than that; then the four.
	lends(t, l, 7700, crowded(1, 0), 0)
	lends(t, l, 7701, crowded(1, 0), 6)
	lends(t, l, 9601, crowded(1, 6), 0)
	lends(t, l, 9602, crowded(1, 6), 4)
}

func TestLeaseEndsUnreported(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	for _, now := range []int64{1001, 2000, 2001, 8001} {
		lends(t, l, now, crowded(1, 0), 0)
	}
	// It may have been used up to 2000; at 2001 the ledger saw that it had ended.
	lends(t, l, 8002, crowded(1, 0), 10)
}

// Somebody comes back whose lease had ended: what it says it has used was on
// record already.
func TestComesBackAfterTheEnd(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	lends(t, l, 3000, crowded(0, 4), 0)
	lends(t, l, 9000, crowded(0, 4), 0)
	lends(t, l, 9001, crowded(0, 4), 10)
}

// A dead part's visitors do not keep others from what there is.
func TestDeadPartIsPassedOver(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	old, young := crowded(0, 0), crowded(1, 0)
	lends(t, l, 1000, old, 10)
	for now := int64(1010); now < 8000; now += 100 {
		lends(t, l, now, young, 0)
	}
	lends(t, l, 8100, young, 10)
}

func TestNewLifeLeavesTheOldLent(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 1)
	lends(t, l, 1000, crowded(0, 0), 10)
	again := crowded(0, 0)
	again.life = 2
	lends(t, l, 1100, again, 0)
	// The old life is heard of once more, and the new one again.
	lends(t, l, 1200, crowded(0, 3), 0)
	lends(t, l, 1300, again, 0)
	lends(t, l, 8000, again, 0)
	lends(t, l, 8001, again, 0) // seen to have ended at 8000
	lends(t, l, 14_001, again, 10)
}

func TestOffersThatMayHold(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	lends(t, l, 1000, crowded(0, 0), 10)
	// Nobody waits there any more, so it is offered nothing; until it says
	// that it has the offer, the first may hold.
	empty := report{part: 0, life: 1}
	o := lends(t, l, 1100, empty, 0)
	lends(t, l, 1110, crowded(1, 0), 0)
	empty.accepted = o.number
	lends(t, l, 1200, empty, 0)
	lends(t, l, 1210, crowded(1, 0), 10)
}

// The offer that a part has named holds until it names another.
func TestOfferThatHolds(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 2)
	o := lends(t, l, 1000, crowded(0, 0), 10)
	empty := report{part: 0, life: 1, accepted: o.number}
	lends(t, l, 1100, empty, 0)
	lends(t, l, 1110, crowded(1, 0), 0)
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
// offer came, and at whatever rate its clock runs.
func TestPartStopsFirst(t *testing.T) {
	t.Parallel()
	const told = 1000
	for _, drift := range []int64{-125_000, -100_000, 0, 100_000} {
		for _, late := range []int64{0, 500, 770, 5000} {
			l := &lease{life: 1, skew: 777, drift: drift}
			l.accept(offer{life: 1, number: 1, allowance: 5}, l.clock(told))
			now := told + late
			if got, want := l.room(now), int64(5); late <= 770 && got != want {
				t.Errorf("drift %d, %d ms after the report: room for %d, want %d", drift, late, got, want)
			}
			if got := l.room(max(now, told+validity+1)); got != 0 {
				t.Errorf("drift %d, %d ms after the report, at the end of the lease: room for %d", drift, late, got)
			}
		}
	}
}

func TestOldOffersAreRefused(t *testing.T) {
	t.Parallel()
	l := &lease{life: 2}
	l.accept(offer{life: 2, number: 4, allowance: 7}, 0)
	l.accept(offer{life: 2, number: 3, allowance: 99}, 0)
	l.accept(offer{life: 2, number: 4, allowance: 99}, 0)
	l.accept(offer{life: 1, number: 9, allowance: 99}, 0)
	if l.allowance != 7 || l.accepted != 4 {
		t.Errorf("allowance %d by offer %d, want 7 by 4", l.allowance, l.accepted)
	}
}

// The oldest arrivals come first, over all parts.
func TestShare(t *testing.T) {
	t.Parallel()
	parts := []lent{
		{queue: queue{11, []int64{100, 200}}},     // one every 10
		{queue: queue{5, []int64{150, 190, 390}}}, // at 150, 170, 190, 290, 390
		{}, // nobody
		{queue: queue{1, []int64{193, 193, 193}}}, // one
	}
	for n, want := range map[int64][4]int64{
		-1: {0, 0, 0, 0}, 0: {0, 0, 0, 0}, 1: {1, 0, 0, 0}, 5: {5, 0, 0, 0}, 7: {6, 1, 0, 0}, 13: {10, 3, 0, 0},
		14: {10, 3, 0, 1}, 15: {11, 3, 0, 1}, 16: {11, 4, 0, 1}, 17: {11, 5, 0, 1}, 99: {11, 5, 0, 1},
	} {
		for part := range parts {
			if got := share(parts, part, n); got != want[part] {
				t.Errorf("of %d part %d gets %d, want %d", n, part, got, want[part])
			}
		}
	}
}

// The log is cut where it is too old to count, and counts the same.
func TestLogIsCut(t *testing.T) {
	t.Parallel()
	l := newLedger(ten, 1)
	var made []int64
	for now := int64(0); now < 10*minute; now += 37 {
		l.endLeases(now)
		l.record(now, now%3)
		for range now % 3 {
			made = append(made, now)
		}
		for _, span := range []int64{0, 1, 36, 37, 6000, minute} {
			want := int64(0)
			for i := len(made) - 1; i >= 0 && made[i] >= now-span; i-- {
				want++
			}
			if got := l.since(now - span); got != want {
				t.Fatalf("at %d: %d in the last %d ms, want %d", now, got, span, want)
			}
		}
	}
	if n := len(l.log); n > 1024+minute/37 {
		t.Errorf("the log has %d entries", n)
	}
}
