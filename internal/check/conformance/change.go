package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/zone"
)

// changeStories: what an operator does in mid-event is in force at the next call.
var changeStories = map[string]func(*story){
	"closed takes no newcomers, and those who wait go on": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.zone(func(z *zone.Settings) { z.Mode = zone.ModeClosed })
		s.join("b").closed()
		s.join("a").waits(1)
		s.join("first").enteredBefore(s.poll("first"))
		s.after(6*second + milli)
		s.poll("a").enters()
		s.join("b").closed()
		s.zone(func(z *zone.Settings) { z.Mode = zone.ModeQueue })
		s.join("b").waits(1)
	},

	"open lets everybody in, and counts": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 20 })
		s.join("a").enters()
		s.join("b").enters()
		s.join("c").waits(1)
		s.zone(func(z *zone.Settings) { z.Mode = zone.ModeOpen })
		s.join("d").enters()
		c := s.poll("c")
		c.enters()
		s.equal("in the window", c.State.InWindow, int64(4))
		s.zone(func(z *zone.Settings) { z.Mode = zone.ModeQueue })
		s.join("e").waits(1)
		s.after(6 * second)
		s.poll("e").waits(1)
		s.after(milli)
		s.poll("e").enters()
	},

	"a higher limit lets in at once": func(s *story) {
		s.full()
		all := names("v", 5)
		for i, v := range all {
			s.join(v).waits(int64(i + 1))
		}
		s.zone(func(z *zone.Settings) { z.PerMinute = 600 })
		for _, v := range all {
			s.poll(v).enters()
		}
	},

	"a lower limit holds until the window has drained": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 600 })
		for _, v := range names("in", 30) {
			s.join(v).enters()
		}
		s.zone(func(z *zone.Settings) { z.PerMinute = 100 })
		a := s.join("a")
		a.waits(1)
		s.equal("the window's limit", a.State.WindowLimit, int64(10))
		s.after(6 * second)
		s.poll("a").waits(1)
		s.after(milli)
		s.poll("a").enters()
	},

	"a longer window counts what a shorter one forgot": func(s *story) {
		s.onePerWindow()
		s.join("first").enters()
		s.after(6*second + milli)
		s.join("second").enters()
		s.zone(func(z *zone.Settings) { z.WindowSeconds = 12 })
		s.join("a").waits(1)
		s.after(5*second + 999*milli)
		s.poll("a").waits(1)
		s.after(milli)
		s.poll("a").enters()
	},

	"a shorter window forgets what a longer one counted": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.WindowSeconds = 10, 60 })
		for _, v := range names("in", 9) {
			s.join(v).enters()
		}
		s.after(6*second + milli)
		s.join("tenth").enters()
		s.zone(func(z *zone.Settings) { z.WindowSeconds, z.PerMinute = 6, 20 })
		s.join("a").enters()
		s.join("b").waits(1)
	},

	"so many may wait and no more": func(s *story) {
		s.full()
		s.zone(func(z *zone.Settings) { z.MaxWaiting = 2 })
		s.join("a").waits(1)
		s.join("b").waits(2)
		s.join("c").full()
		s.join("b").waits(2)
		s.leave("a")
		s.join("c").waits(2)
		s.zone(func(z *zone.Settings) { z.MaxWaiting = 1 })
		s.poll("c").waits(2)
		s.join("d").full()
		s.zone(func(z *zone.Settings) { z.MaxWaiting = 0 })
		s.join("d").waits(3)
	},

	"another time to live moves no expiry": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PassTTLSeconds = 300 })
		first := s.join("first")
		first.enters()
		s.zone(func(z *zone.Settings) { z.PassTTLSeconds = 10 })
		s.poll("first").enteredBefore(first)
		s.after(milli)
		then := s.join("then")
		then.enters()
		s.zone(func(z *zone.Settings) { z.PassTTLSeconds = 600 })
		s.poll("first").enteredBefore(first)
		s.poll("then").enteredBefore(then)
		s.after(10*second - milli)
		s.poll("then").enteredBefore(then)
		s.after(milli)
		s.poll("then").gone()
		s.poll("first").enteredBefore(first)
		s.after(290*second - milli)
		s.sweep()
		s.poll("first").gone()
	},

	"a zone that opens and closes keeps its line": func(s *story) {
		s.full()
		all := names("v", 4)
		for i, v := range all {
			s.join(v).waits(int64(i + 1))
		}
		for _, mode := range []zone.Mode{zone.ModeClosed, zone.ModeOpen, zone.ModeClosed, zone.ModeQueue} {
			s.zone(func(z *zone.Settings) { z.Mode = mode })
		}
		in := s.pollAll(all, 250*milli, 30*second)
		s.equal("in their order", slices.Equal(in, all), true)
	},
}
