package fault

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
)

// Less than a tenth of the times that phones take: a minute without a poll, a quarter of an hour set aside, and 2 to 14 minutes in a
// pocket. leastUsed is what G2 promises.
const (
	phones                  = 3_000
	phoneKept               = 75
	shortestNap, longestNap = 20 * time.Second, 85 * time.Second
	napsBegin, faultsBegin  = 15 * time.Second, 45 * time.Second
	phonesPerMinute         = 1_500
	leastUsed               = 0.96
)

// TestPhones: of 3,000 visitors, 30 % fall silent once for longer than the idle timeout, and come back before their place is given up. Redis
// is killed and emptied meanwhile. Nobody loses the place, no number rises, whoever stayed keeps the order, and the limit is used.
func TestPhones(t *testing.T) {
	t.Parallel()
	e := startEngine(t, "--appendonly", "yes")
	z := busy("SHOP")
	z.PerMinute, z.KeepPlaceSeconds = phonesPerMinute, phoneKept
	s := setUp(t, "phones that sleep; Redis killed, then FLUSHALL", e.URL(), z)
	rose, faults := 0, time.Now().Add(time.Hour)
	naps := s.naps(napsBegin, shortestNap, longestNap)
	sleep := s.crowd.saw
	s.crowd.saw = func(v *visitor, told room.Answer, now time.Time) bool {
		if v.rose > 0 && now.Before(faults) {
			rose++
		}
		return sleep(v, told, now)
	}
	s.crowd.arrive("SHOP", phones, 5*time.Second)
	room.Await(t, "some have come back", after(faultsBegin))
	s.crowd.mu.Lock()
	faults = time.Now() // after which numbers may rise while places come back
	s.crowd.mu.Unlock()
	used := capacity(s.crowd, "SHOP", window.RatesOf(z))

	s.breaks()
	e.Kill()
	s.refusals(t, phones/20)
	e.start(t)
	room.Await(t, "the line moves for a while", after(10*time.Second))
	e.do(t, "FLUSHALL")
	s.mends(time.Now())
	if !room.Soon(t, 5*time.Minute, func() bool { return s.crowd.admitted("SHOP") == phones }) {
		t.Errorf("%d of %d are in", s.crowd.admitted("SHOP"), phones)
	}
	s.finish(t)

	for _, v := range s.crowd.visitors {
		if v.lost != "" {
			t.Errorf("%s, of which the room heard nothing for %v: %s", v.name, v.unheard, v.lost)
		}
	}
	slept := naps()
	t.Logf("%d slept; %.3f of the limit was used before the faults, %d answers were of a number that had risen; %s", slept, used, rose, room.Machine())
	if slept < phones/5 || rose > 0 {
		t.Errorf("%d slept, and %d answers were of a number that had risen", slept, rose)
	}
	if used < leastUsed && onTime() {
		t.Errorf("%.3f of the limit was used, want %.2f", used, leastUsed)
	}
}

// naps has 30 % of the crowd of the first zone fall silent once, with a token: within a time from now on, for a time between two. It returns how many have.
func (s *experiment) naps(within, shortest, longest time.Duration) (slept func() int) {
	n, begins, from := 0, map[*visitor]time.Time{}, time.Now()
	never := from.Add(24 * time.Hour)
	s.crowd.saw = func(v *visitor, told room.Answer, now time.Time) bool {
		at, known := begins[v]
		if !known {
			if at = never; v.zoneID == s.zones[0].ZoneID && rand.N(10) < 3 {
				at = from.Add(rand.N(within))
			}
			begins[v] = at
		}
		if !told.CanEnter && !v.repeats && !now.Before(at) {
			n++
			begins[v], v.late = never, true
			v.due = now.Add(shortest + rand.N(longest-shortest))
		}
		return false
	}
	return func() int {
		s.crowd.mu.Lock()
		defer s.crowd.mu.Unlock()
		return n
	}
}

// capacity is the share of the limit that was used so far, while at least two windows' worth waited.
func capacity(c *crowd, zoneID string, rates window.Rates) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changes []measure.Change
	var admitted []int64
	for _, v := range c.inOrder(zoneID) {
		changes = append(changes, measure.Change{AtMillis: v.arrived / 1000, By: 1})
		if v.admitted > 0 {
			admitted = append(admitted, v.admitted)
			changes = append(changes, measure.Change{AtMillis: v.admitted, By: -1})
		}
	}
	slices.Sort(admitted)
	slices.SortFunc(changes, func(a, b measure.Change) int { return cmp.Compare(a.AtMillis, b.AtMillis) })
	return measure.Capacity(changes, admitted, rates)
}
