package fallback

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// walker is a visitor of a crowd that lives through an outage.
type walker struct {
	place line.Place
	next  int64 // when it polls next, in milliseconds; gone for good if negative
	in    int64 // when it was let in
}

func TestOrderInAnOutage(t *testing.T) {
	for _, tt := range []struct {
		servers, perMinute int
		silent, leaving    float64
	}{
		{1, 600, 0, 0}, {1, 600, 0.35, 0}, {1, 600, 0.35, 0.3}, {2, 600, 0.35, 0}, {2, 600, 0.35, 0.3}, {4, 600, 0.35, 0}, {10, 600, 0.35, 0}, {2, 60, 0.35, 0}, {1, 6000, 0.35, 0}, {2, 6000, 0.6, 0.3},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(1, 2))
			r := newRoom(t, tt.servers, admitting(int64(tt.perMinute)))
			window60 := window.Limit(int64(tt.perMinute), 6000)
			n := tt.perMinute * 4
			var crowd []walker
			for i := range n {
				places := r.join(r.servers[i%tt.servers], 1)
				r.clock.advance(10 * time.Microsecond)
				for _, p := range places {
					crowd = append(crowd, walker{place: p})
				}
			}
			start := r.clock.now().UnixMilli()
			for i := range crowd {
				crowd[i].next = start + dice.Int64N(20_000)
				if dice.Float64() < tt.silent {
					crowd[i].next = -1
				}
			}
			r.cut(true)
			var order []int
			for step := range 4 * 180 { // of 250 ms
				now := r.clock.now().UnixMilli()
				_ = step
				for _, i := range dice.Perm(len(crowd)) {
					w := &crowd[i]
					if w.next < 0 || w.next > now {
						continue
					}
					a, err := r.servers[dice.IntN(tt.servers)].Poll(t.Context(), testZone, w.place)
					switch o := outcome(a, err); o {
					case "admitted locally":
						w.in, w.next = now, -1
						order = append(order, i)
					case "held":
						w.next = now + 1000*(1+dice.Int64N(3)) + dice.Int64N(300)
						if dice.Float64() < tt.leaving/20 {
							w.next = -1
						}
					default:
						t.Fatal(o)
					}
				}
				r.pass(ProbeEvery)
			}
			end := r.clock.now().UnixMilli()
			// overtaken: later arrivals that went in while one was there.
			var over []int
			for k, i := range order {
				c := 0
				for _, j := range order[:k] {
					if j > i {
						c++
					}
				}
				over = append(over, c)
			}
			slices.Sort(over)
			ins := map[int64]int{}
			for _, i := range order {
				ins[(crowd[i].in-start)/6000]++
			}
			q := func(p float64) float64 { return float64(over[int(p*float64(len(over)-1))]) / float64(window60) }
			t.Logf("admitted %d of %d crowd, capacity %.0f from 9 s; overtaken p50 %.2f p90 %.2f p99 %.2f max %.2f windows", len(order), len(crowd),
				float64(end-start-9000)/60000*float64(tt.perMinute), q(.5), q(.9), q(.99), q(1))
			var s string
			for w := range int64(30) {
				s += fmt.Sprint(ins[w], " ")
			}
			t.Log(s)
		})
	}
}
