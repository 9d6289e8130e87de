package split

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/simulate"
	"github.com/openqueue/waitingroom/internal/window"
)

// world is a ledger and masters of parts, without a crowd: whoever schedules
// it decides when each message arrives and when each slot is used.
type world struct {
	now     int64
	ledger  *ledger
	past    []*ledger // states that it may go back to
	lives   int64
	masters []master // all there ever were: an old one may go on for ever
	reports []report // all that were sent: each may arrive at any time, again and again
	offers  []answered
	used    []int64
}

type master struct {
	part int
	*lease
}

type answered struct {
	offer
	part  int
	clock int64
}

// promote gives a part another master; the former ones do not notice.
func (w *world) promote(part int, skew, drift int64) {
	w.lives++
	w.masters = append(w.masters, master{part, &lease{life: w.lives, skew: skew, drift: drift}})
}

// report has a master report; those who wait there came from that time on, or
// there are none.
func (w *world) report(m master, oldest int64) int {
	r := report{part: m.part, life: m.life, accepted: m.accepted, used: m.used, clock: m.clock(w.now)}
	if oldest > 0 {
		r.queue = queue{1000, []int64{oldest, oldest + 999}}
	}
	w.reports = append(w.reports, r)
	return len(w.reports) - 1
}

// tell has the ledger hear a report.
func (w *world) tell(i int) int {
	r := w.reports[i]
	w.offers = append(w.offers, answered{w.ledger.exchange(w.now, r), r.part, r.clock})
	return len(w.offers) - 1
}

// give has the masters of the part hear an offer.
func (w *world) give(i int) {
	for _, m := range w.masters {
		if a := w.offers[i]; m.part == a.part {
			m.accept(a.offer, a.clock)
		}
	}
}

func (w *world) use(m master, most int64) {
	for range min(most, m.room(w.now)) {
		m.used++
		w.used = append(w.used, w.now)
	}
}

// latest draws one of n, most often one of the last few.
func latest(t *rapid.T, n int, what string) int {
	return max(0, n-1-rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, n-1)).Draw(t, what))
}

// TestAnySchedule looks for any order of events by which a limit is exceeded:
// messages at any time and any number of times, slots used at the very ends of
// leases, masters replaced at any moment and going on, clocks that are off and
// run at other rates, and a ledger that goes back to any earlier state.
func TestAnySchedule(t *testing.T) {
	t.Parallel()
	// A schedule takes half a millisecond: look at 2,000.
	for range 20 {
		rapid.Check(t, anySchedule)
	}
}

func anySchedule(t *rapid.T) {
	rates := window.RatesOf(zoneOf(rapid.Int64Range(1, 200).Draw(t, "per minute"), rapid.Int64Range(1, 7).Draw(t, "window")))
	parts := rapid.IntRange(1, 3).Draw(t, "parts")
	w := &world{now: beginning, ledger: newLedger(rates, parts)}
	w.past = []*ledger{w.ledger.clone()}
	skew, drift := rapid.Int64Range(-20_000, 20_000), rapid.OneOf(rapid.Just(int64(-125_000)), rapid.Int64Range(-125_000, 125_000))
	for part := range parts {
		w.promote(part, skew.Draw(t, "skew"), drift.Draw(t, "drift"))
	}
	pauses := rapid.OneOf(
		rapid.Int64Range(0, 3), rapid.Int64Range(0, 200), rapid.Int64Range(leaseLasts-2, leaseLasts+2),
		rapid.Int64Range(validity-2, validity+2), rapid.Int64Range(rates.WindowMillis-validity, rates.WindowMillis+2),
		rapid.Int64Range(0, 15_000),
	)
	some := rapid.SampledFrom([]int64{1, 1000})
	since := rapid.SampledFrom([]int64{0, 1, 1000, 1001, 5000})
	anyone := func() master { return w.masters[latest(t, len(w.masters), "master")] }
	actions := map[string]func(){
		"wait":   func() { w.now += pauses.Draw(t, "pause") },
		"use":    func() { w.use(anyone(), some.Draw(t, "slots")) },
		"report": func() { w.report(anyone(), since.Draw(t, "since")) },
		"tell": func() {
			if n := len(w.reports); n > 0 {
				w.tell(latest(t, n, "report"))
			}
		},
		"give": func() {
			if n := len(w.offers); n > 0 {
				w.give(latest(t, n, "offer"))
			}
		},
		"round": func() { w.give(w.tell(w.report(anyone(), since.Draw(t, "since")))) },
		// Slots used, and lent again, at the ends of a lease and of a window.
		"late": func() {
			m, other := anyone(), anyone()
			w.give(w.tell(w.report(m, since.Draw(t, "since"))))
			w.now += rapid.Int64Range(leaseLasts-2, validity+2).Draw(t, "lease")
			w.tell(w.report(other, since.Draw(t, "since")))
			w.now += rapid.Int64Range(0, validity/7).Draw(t, "after")
			w.use(m, 1000)
			w.now += rates.WindowMillis - rapid.Int64Range(-2, validity/7).Draw(t, "before")
			w.give(w.tell(w.report(other, since.Draw(t, "since"))))
			w.use(other, 1000)
		},
		"note": func() { w.past = append(w.past, w.ledger.clone()) },
		"lose": func() { w.ledger.lose(w.now, w.past[latest(t, len(w.past), "state")]) },
		"promote": func() {
			w.promote(rapid.IntRange(0, parts-1).Draw(t, "part"), skew.Draw(t, "skew"), drift.Draw(t, "drift"))
		},
	}
	// What moves the room on comes most often.
	weighted := rapid.SampledFrom([]string{
		"wait", "wait", "wait", "use", "use", "use", "round", "round", "round", "late", "report", "tell", "tell", "give", "give", "note", "lose", "promote",
	})
	calm := rapid.SampledFrom([]string{"wait", "use", "round", "late", "report", "tell", "give", "promote"})
	if rapid.Bool().Draw(t, "nothing is lost") {
		weighted = calm
	}
	for range rapid.IntRange(20, 150).Draw(t, "steps") {
		actions[weighted.Draw(t, "then")]()
	}
	if !slices.IsSorted(w.used) {
		t.Fatal("time ran backwards")
	}
	if got := simulate.MaxWithin(w.used, rates.WindowMillis); int64(got) > rates.Limit {
		t.Fatalf("%d in a window, at most %d", got, rates.Limit)
	}
	if got := simulate.MaxWithin(w.used, minute); int64(got) > rates.PerMinute {
		t.Fatalf("%d in a minute, at most %d", got, rates.PerMinute)
	}
}
