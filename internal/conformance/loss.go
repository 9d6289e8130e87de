package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lossStories: the store loses its data, and the visitors' polls heal it.
var lossStories = map[string]func(*story){
	"after one poll each, everybody is back in the original order": func(s *story) {
		all := s.losesAll(line.Memory{})
		for _, v := range slices.Backward(all) {
			s.poll(v).restored()
		}
		for i, v := range all {
			s.poll(v).waits(int64(i + 1))
		}
		// With nothing remembered, nobody is let near before those who may be
		// ahead have polled, and the window counts as full until then.
		in := s.pollAll(all, 250*milli, 6*second)
		s.equal("in before", len(in), 0)
		in = s.pollAll(all, 250*milli, 90*second)
		s.equal("in their order", slices.Equal(in, all), true)
		s.equal("most in a window", s.mostIn(6*second), 2)
		s.totals(line.Totals{Admitted: 12, Restored: 12})
	},

	"those who were released may enter before the rest is back": func(s *story) {
		all := s.losesAll(s.memoryOfTwelve())
		for _, v := range slices.Backward(all) {
			s.poll(v).restored()
		}
		// A window counts as full, then the five at the door go in.
		in := s.pollAll(all, 250*milli, 6*second)
		s.equal("in within a window", len(in), 0)
		in = s.pollAll(all, 250*milli, 90*second)
		s.equal("in their order", slices.Equal(in, all), true)
		s.equal("most in a window", s.mostIn(6*second), 2)
		s.equal("most in a minute", s.mostIn(minute) <= 20, true)
	},

	"the window counts as full, though nobody comes back": func(s *story) {
		s.full()
		s.lose(s.memory())
		a := s.join("a")
		a.waits(1)
		s.equal("in the minute", a.State.InMinute, int64(10))
		s.after(6 * second)
		s.poll("a").waits(1)
		s.after(milli)
		s.poll("a").enters()
		s.after(6 * second)
		s.join("b").waits(1)
		s.after(milli)
		s.poll("b").enters()
	},

	"and a burst may have filled it": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.Burst = 20, 8 })
		for _, v := range names("v", 10) {
			s.join(v).enters()
		}
		s.lose(s.memory())
		a := s.join("a")
		a.waits(1)
		s.equal("in the window", a.State.InWindow, int64(10))
		in := s.pollAll([]string{"a"}, 250*milli, 2*minute)
		s.equal("in the end", slices.Equal(in, []string{"a"}), true)
		s.equal("most in a minute", s.mostIn(minute) <= 20, true)
	},

	"a second loss is healed as the first": func(s *story) {
		all := s.losesAll(s.memoryOfTwelve())
		for _, v := range all {
			s.poll(v).restored()
		}
		s.after(second)
		s.lose(s.memory())
		for _, v := range slices.Backward(all) {
			s.poll(v).restored()
		}
		for i, v := range all {
			s.poll(v).waits(int64(i + 1))
		}
	},

	"newcomers after a loss line up behind those who come back": func(s *story) {
		all := s.losesAll(s.memoryOfTwelve())
		s.join("new").waits(1)
		for i, v := range all {
			s.poll(v).restored().waits(int64(i + 1))
		}
		s.poll("new").waits(int64(len(all) + 1))
	},

	"where nothing was lost, the swept, the departed and the admitted stay gone": func(s *story) {
		s.full()
		s.join("leaver").waits(1)
		s.join("silent").waits(2)
		s.leave("leaver")
		s.after(idle)
		s.equal("swept", s.sweep(), int64(1))
		s.join("in").enters()
		s.after(300 * second)
		for _, v := range []string{"leaver", "silent", "first", "in"} {
			s.poll(v).gone()
		}
		s.totals(line.Totals{Joined: 4, Admitted: 2, Left: 1, Swept: 1})
	},

	"and so they do when they were put back": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.PassTTLSeconds = 20, 10 })
		s.join("x").enters()
		s.join("y").enters()
		for i, v := range []string{"leaver", "silent", "in", "hasty"} {
			s.join(v).waits(int64(i + 1))
		}
		s.lose(s.memory())
		for _, v := range []string{"leaver", "silent", "in"} {
			s.poll(v).restored()
		}
		s.leave("hasty") // before it was put back
		s.leave("leaver")
		in := s.pollAll([]string{"in"}, 250*milli, idle)
		s.equal("in", len(in), 1)
		s.equal("swept", s.sweep(), int64(1))
		for _, v := range []string{"leaver", "silent", "in", "hasty"} {
			s.poll(v).gone()
		}
		s.totals(line.Totals{Admitted: 1, Left: 1, Swept: 1, Restored: 3})
	},

	"places are put back for ten minutes": func(s *story) {
		all := s.losesAll(s.memoryOfTwelve())
		s.after(10*minute - milli)
		s.poll(all[0]).restored()
		s.after(milli)
		s.poll(all[1]).gone()
		s.poll(all[0])
	},

	"who left in one healing may be put back in the next": func(s *story) {
		s.full()
		s.join("a").waits(1)
		early := s.tokens["a"]
		s.leave("a")
		s.after(20 * minute)
		s.join("in").enters()
		s.join("a").waits(1)
		s.join("b").waits(2)
		// Back, with another store: it puts back what came before its time.
		s.after(-15 * minute)
		s.lose(line.Memory{})
		s.world.leave(early)
		s.world.poll(early)
		s.after(11 * minute)
		s.poll("b").restored()
		s.poll("a").restored().waits(1)
	},

	"a token newer than all that is known means a loss": func(s *story) {
		s.full()
		s.after(second)
		s.join("a").waits(1)
		s.after(second)
		s.join("b").waits(2)
		// Nothing is remembered, and the store's clock was behind: it does not
		// know that anything is missing.
		s.after(-5 * second)
		s.lose(line.Memory{})
		s.after(7 * second)
		s.equal("in the window, its loss being over", s.stats().State.InWindow, int64(0))

		a := s.poll("a")
		a.restored().waits(1)
		s.equal("in the window, which counts as full anew", a.State.InWindow, int64(1))
		s.join("d").waits(2)
		// One loss, one window: the next who comes back does not fill it again.
		s.after(second)
		s.poll("b").restored().waits(2)
		s.poll("d").waits(3)
		s.after(5 * second)
		s.equal("in the window", s.stats().State.InWindow, int64(1))
		s.after(milli)
		s.equal("in the window, later", s.stats().State.InWindow, int64(0))
	},
}

// losesAll: two are in and twelve wait; then the store loses everything, and
// the zone is put back with that memory. It returns those who wait.
func (s *story) losesAll(m line.Memory) []string {
	s.t.Helper()
	waiting := s.twelveWait()
	s.lose(m)
	return waiting
}

// memoryOfTwelve is what a server remembers of the zone of losesAll.
func (s *story) memoryOfTwelve() line.Memory {
	s.t.Helper()
	s.twelveWait()
	s.stats()
	return s.memory()
}

func (s *story) twelveWait() []string {
	s.t.Helper()
	all := names("v", 12)
	if s.model != nil {
		return all
	}
	s.zone(func(z *zone.Settings) { z.PerMinute = 20 })
	s.join("x").enters()
	s.join("y").enters()
	for i, v := range all {
		s.join(v).waits(int64(i + 1))
	}
	return all
}
