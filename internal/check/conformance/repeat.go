package conformance

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// repeatStories: every call can be made again.
var repeatStories = map[string]func(*story){
	"a repeated join has the same place": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.join("b").waits(2)
		first := s.tokens["a"]
		s.after(second)
		s.join("a").waits(1)
		s.equal("the place", place(s.tokens["a"]), place(first))
		s.totals(line.Totals{Joined: 3, Admitted: 1})
	},

	"a place under a former id is found": func(s *story) {
		s.full()
		s.join("old").waits(1)
		s.join("b").waits(2)
		s.join("new", "older", "old").waits(1)
		s.equal("the place", place(s.tokens["new"]), place(s.tokens["old"]))
		first := s.poll("first")
		s.join("newer", "oldest", "first").enteredBefore(first)
		s.equal("the id", s.tokens["newer"].ID, visitorID("first"))
		s.totals(line.Totals{Joined: 3, Admitted: 1})
	},

	"an admission can be asked for again, and counts once": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.after(6*second + milli)
		a := s.poll("a")
		a.enters()
		s.after(second)
		for range 3 {
			s.poll("a").enteredBefore(a)
			s.join("a").enteredBefore(a)
		}
		s.equal("in the window", s.stats().State.InWindow, int64(1))
		s.totals(line.Totals{Joined: 2, Admitted: 2})
	},

	"an admission expires, and one joins again": func(s *story) {
		s.full()
		first, old := s.poll("first"), s.tokens["first"]
		s.after(300*second - milli)
		s.poll("first").enteredBefore(first)
		s.after(milli)
		s.poll("first").gone()
		s.join("first").enters()
		s.equal("a new place", s.tokens["first"].ArrivedAtMicros > old.ArrivedAtMicros, true)
		s.totals(line.Totals{Joined: 2, Admitted: 2})
	},

	"one who comes twice in a minute counts twice": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.PassTTLSeconds = 2, 10 })
		s.join("a").enters()
		s.after(10 * second)
		s.join("a").enters()
		s.join("b").waits(1)
		s.after(49*second + 999*milli)
		s.poll("b").waits(1)
		s.after(2 * milli)
		s.poll("b").enters()
	},

	"one who asked for the admission again is not taken for lost when it expires": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.after(6*second + milli)
		s.poll("a").enters()
		s.after(second)
		s.join("a")
		s.after(300 * second)
		s.poll("a").gone()
		s.equal("in the minute", s.stats().State.InMinute, int64(0))
		s.totals(line.Totals{Joined: 2, Admitted: 2})
	},

	"one who comes back has one place, whichever token is shown": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.after(idle)
		s.equal("swept", s.sweep(), int64(1))
		s.zone(func(z *zone.Settings) { z.PerMinute = 0 })
		s.join("b").waits(1)
		old := s.tokens["a"]
		s.join("a").waits(2)
		s.equal("by the old token", s.world.poll(old).Position, int64(2))
		s.world.leave(old)
		s.poll("a").gone()
		s.totals(line.Totals{Joined: 4, Admitted: 1, Swept: 1, Left: 1})
	},
}
