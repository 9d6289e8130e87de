package conformance

import (
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// limitStories: how many enter, and when.
var limitStories = map[string]func(*story){
	"those for whom there is room go straight in": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 20 })
		s.join("a").enters()
		s.join("b").enters()
		c := s.join("c")
		c.waits(1)
		s.equal("in the window", c.State.InWindow, int64(2))
		s.equal("the window's limit", c.State.WindowLimit, int64(2))
		s.totals(line.Totals{Joined: 3, Admitted: 2})
	},

	"those for whom there is none line up": func(s *story) {
		s.full()
		all := names("v", 30)
		for i, v := range all {
			s.join(v).waits(int64(i + 1))
		}
		s.after(second)
		for i, v := range all {
			s.poll(v).waits(int64(i + 1))
		}
	},

	"a slot is free when the admission is older than the window, not when as old": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.after(6 * second)
		s.poll("a").waits(1)
		// The clock counts microseconds, the log milliseconds.
		s.after(milli - time.Microsecond - s.clock.Now().Sub(s.clock.Now().Truncate(milli)))
		s.poll("a").waits(1)
		s.after(time.Microsecond)
		s.poll("a").enters()
	},

	"and when it is older than a minute, for the minute": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 2 })
		s.join("first").enters()
		s.after(6*second + milli)
		s.join("second").enters()
		s.join("a").waits(1)
		s.after(53*second + 999*milli)
		s.poll("a").waits(1)
		s.after(milli)
		s.poll("a").enters()
	},

	"five a minute are five, not none and not ten": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 5 })
		all := names("v", 12)
		s.join(all[0]).enters()
		for i, v := range all[1:] {
			s.join(v).waits(int64(i + 1))
		}
		in := s.pollAll(all[1:], 250*milli, 2*minute)
		s.equal("in after two minutes", len(s.admitted), 10)
		s.equal("in their order", slices.Equal(in, all[1:10]), true)
		s.equal("most in a window", s.mostIn(6*second), 1)
		s.equal("most in a minute", s.mostIn(minute), 5)
	},

	"none a minute holds everybody": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.Burst = 0, 5 })
		all := names("v", 3)
		for i, v := range all {
			a := s.join(v)
			a.waits(int64(i + 1))
			s.equal("the estimate", a.EstimateMillis, int64(window.MaxEstimateMillis))
		}
		s.equal("in after five minutes", len(s.pollAll(all, 10*second, 5*minute)), 0)
	},

	"six hundred thousand a minute are as exact": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.WindowSeconds = 600_000, 1 })
		const inOneWindow = 10_000
		answers := s.joinMany(inOneWindow+1, crowdID)
		i := slices.IndexFunc(answers, func(a line.Answer) bool { return a.Status == line.Waiting })
		if i < 0 {
			s.t.Fatalf("all %d were let in at once", len(answers))
		}
		s.equal("the position of the only one who waits", answers[i].Position, int64(1))
		s.after(second)
		s.equal("a second later", s.pollNow(answers[i].Place).Status, line.Waiting)
		s.after(milli)
		s.equal("and a millisecond", s.pollNow(answers[i].Place).Status, line.Admitted)
	},

	"a burst goes straight in": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.Burst = 20, 3 })
		for _, v := range names("v", 5) {
			s.join(v).enters()
		}
		s.join("late").waits(1)
	},

	"but not while somebody waits": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 20 })
		s.join("a").enters()
		s.join("b").enters()
		s.join("c").waits(1)
		s.zone(func(z *zone.Settings) { z.Burst = 3 })
		s.join("d").waits(2)
		s.poll("c").waits(1)
	},

	"though not for one who is overdue": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.Burst = 20, 3 })
		for _, v := range names("v", 5) {
			s.join(v).enters()
		}
		s.join("overdue").waits(1)
		s.after(minute)
		for _, v := range names("w", 5) {
			s.join(v).enters()
		}
		s.join("late").waits(2)
	},

	"and not beyond what the minute allows": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.Burst = 4, 10 })
		for _, v := range names("v", 4) {
			s.join(v).enters()
		}
		s.join("a").waits(1)
		s.after(minute)
		s.poll("a").waits(1)
		s.after(milli)
		s.poll("a").enters()
	},

	"everybody is told the wait that the limit gives": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 60 })
		for _, v := range names("in", 6) {
			s.join(v).enters()
		}
		all := names("v", 70)
		for i, v := range all {
			a := s.join(v)
			a.waits(int64(i + 1))
			s.equal("the estimate of "+v, a.EstimateMillis, int64(i+1)*1000)
		}
		operators := s.stats().EstimateMillis
		s.equal("what operators see", operators, int64(71_000))
		s.equal("what the next is told", s.join("next").EstimateMillis, operators)
		// And on the way, as the model says.
		s.pollAll(all, second, 25*second)
	},

	"many at once are never too many": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 600 })
		s.admitted = s.stampede(64, 150)
		if len(s.admitted) < 100 {
			s.t.Fatalf("only %d came in", len(s.admitted))
		}
		if n := s.mostIn(6 * second); n > 60 {
			s.t.Fatalf("%d in a window, at most 60", n)
		}
		if n := s.mostIn(minute); n > 600 {
			s.t.Fatalf("%d in a minute, at most 600", n)
		}
	},
}
