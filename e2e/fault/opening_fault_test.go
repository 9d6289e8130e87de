//go:build faults

package fault

import (
	"strconv"
	"testing"
	"time"
)

// TestOpeningMasterKilled kills the master in the moment in which a sale opens: nobody is lost, all
// stand as drawn, and they are let in when its replica has taken over.
func TestOpeningMasterKilled(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	o := startOpening(t, setUp(t, "a sale opens: master killed at opensAt", w.url(), forSale(600)), w.master, 8*time.Second)
	o.engines, o.loses = append(o.engines, w.replica), losesLast
	o.gather(t, aThousand)
	o.crowd.arriveFrom(t.Context(), o.zoneID, aFew, time.Until(o.settles)+2*time.Second, time.Second)
	o.passes(t, 0)
	o.breaks()
	w.master.Kill()
	o.mends(w.awaitTakeover(t))
	o.settle(t)
	t.Logf("%d were drawn", o.prove(t, 0))
	o.finish(t)
	o.inOrder(t)
}

// The targets of an opening.
const (
	leastUsed   = 95 // percent of the limits of the first two windows
	mostSettled = 2  // as many polls a second as a settled line of that size has
)

// TestOpeningAtScale has so many gather that each target of an opening is one of the engine.
func TestOpeningAtScale(t *testing.T) {
	visitors := stormSize(t)
	e := startEngine(t)
	z := forSale(max(600, int64(visitors)*6/100)) // a line that lasts longer than it is looked at
	z.IdleTimeoutSeconds = 60
	o := startOpening(t, setUp(t, "a sale of "+strconv.Itoa(visitors)+" opens", e.url(), z), e, time.Minute)
	o.engines, o.loses = append(o.engines, e), losesNothing
	o.gather(t, visitors)
	o.passes(t, 0)
	o.breaks()
	o.mends(o.opens)
	const settles, looks = 30 * time.Second, 60 * time.Second
	o.passes(t, settles+looks)
	o.settle(t)
	if n := o.prove(t, 1); n != visitors {
		t.Errorf("%d were drawn, want %d", n, visitors)
	}
	f := o.measure(o.opens.Add(settles), o.opens.Add(settles+looks))
	o.finish(t)
	o.inOrder(t)
	t.Logf("%d gathered: opened after %v, %.1f and %.1f %% of the first two windows used; at most %.0f requests a second about the opening, %.0f in the settled line; slack %v",
		visitors, f.opened, f.used[0], f.used[1], f.busiest, f.settled, o.slack)
	if f.opened < 0 || f.opened > soonOpened {
		t.Errorf("opened after %v", f.opened)
	}
	for i, used := range f.used {
		if used < leastUsed {
			t.Errorf("of window %d, %.1f %% were used", i+1, used)
		}
	}
	if f.busiest > mostSettled*f.settled {
		t.Errorf("%.0f requests in a second, %.0f in the settled line", f.busiest, f.settled)
	}
}
