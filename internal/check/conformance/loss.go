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
		// A window counts as full, then the five at the front go in.
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

	"who left and joined anew is put back where it joined": func(s *story) {
		s.full()
		s.join("a").waits(1)
		early := s.tokens["a"]
		s.leave("a")
		s.after(second)
		s.join("b").waits(1)
		s.join("a").waits(2)
		s.lose(s.memory())
		s.recall(line.Departure{Place: early})
		s.equal("the earlier place", s.world.poll(early).Status, line.Gone)
		s.poll("b").restored().waits(1)
		s.poll("a").restored().waits(2)
	},

	"no token jumps the line by a loss": func(s *story) {
		stock := s.stock()
		s.lose(s.memory())
		s.recall(s.departed...)
		s.refused(stock)
		s.honest()
	},

	"nor if it is the third, and the servers tell late": func(s *story) {
		stock := s.stock()
		for range 2 {
			m := s.memory()
			s.lose(m)
			s.after(second)
		}
		// One server has put the zone back; the other has not told yet what it knows.
		for _, who := range names("h", 10) {
			s.poll(who).restored()
		}
		for _, p := range stock {
			s.world.poll(p)
		}
		s.recall(s.departed...)
		s.refused(stock)
		s.honest()
	},

	"nor if nobody remembers the line, once it is silent": func(s *story) {
		stock := s.stock()
		s.after(2 * minute)
		s.lose(line.Memory{})
		s.refused(stock)
	},

	"nor by a zone that is made anew": func(s *story) {
		stock := s.stock()
		settings := s.model.settings
		s.delete("")
		s.after(second)
		s.put(settings)
		s.refused(stock)
		s.lose(s.memory())
		s.refused(stock)
		s.equal("nobody was put back", s.stats().State.Waiting, int64(0))
	},

	"nor by another installation's, and its tokens do not fill the window": func(s *story) {
		s.full()
		s.after(7 * second)
		alien := s.tokens["first"]
		alien.ID = visitorID("alien")
		alien.Epoch++
		alien.ArrivedAtMicros += (10 * second).Microseconds()
		alien.DueMillis = s.model.now + minute.Milliseconds()
		s.equal("a poll", s.world.poll(alien).Status, line.Gone)
		s.equal("in the window", s.stats().State.InWindow, int64(0))
		s.join("a").enters()
	},

	"an admission is known again, once it is recalled": func(s *story) {
		s.full()
		s.join("a").waits(1)
		waiting := s.tokens["a"]
		s.after(6*second + milli)
		a := s.poll("a")
		a.enters()
		s.lose(s.memory())
		s.recall(s.departed...)
		s.recall(s.departed...)
		s.poll("a").enteredBefore(a)
		s.equal("with the token of before", s.world.poll(waiting).AdmittedAtMillis, a.AdmittedAtMillis)
		s.join("a").enteredBefore(a)
		s.totals(line.Totals{})
	},

	"a line begun with tokens of version 1 goes on with them": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.join("b").waits(2)
		m := s.memory()
		m.Epoch = 0
		s.lose(m)
		old := place(s.tokens["a"])
		a := s.world.poll(old)
		s.equal("restored", a.Restored, true)
		s.equal("the token", a.Place.Epoch, uint32(0))
		s.lose(s.memory())
		s.equal("restored again", s.world.poll(old).Restored, true)
		s.pollAll([]string{"a", "b"}, 250*milli, 2*minute)
		s.after(10 * minute)
		// The line is at its end; the next begins with tokens of its own.
		s.equal("the token of the next", s.join("c").Place.Epoch > 0, true)
		s.lose(s.memory())
		s.equal("of the last line", s.world.poll(old).Status, line.Gone)
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

// stock makes ten honest visitors wait, and returns fifteen tokens of others that are
// dead: five were used, five left, five were swept. None of them is old.
func (s *story) stock() (dead []line.Place) {
	s.t.Helper()
	s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 50, 60 })
	used, left, swept := names("u", 5), names("l", 5), names("s", 5)
	for _, who := range names("x", 5) {
		s.join(who).enters()
	}
	for _, who := range slices.Concat(used, left, swept) {
		s.join(who)
	}
	hold := func() {
		for _, who := range slices.Concat(used, left, swept) {
			dead = append(dead, s.tokens[who])
		}
	}
	hold()
	in := s.pollAll(used, 250*milli, 20*second)
	s.equal("used", len(in), 5)
	s.after(70 * second)
	for _, who := range left {
		s.poll(who)
	}
	s.equal("swept", s.sweep(), int64(5))
	for _, who := range left {
		dead = append(dead, s.tokens[who])
		s.leave(who)
	}
	s.zone(func(z *zone.Settings) { z.PerMinute = 10 })
	for _, who := range names("h", 10) {
		s.join(who)
	}
	return dead
}

// refused: none of them has a place.
func (s *story) refused(stock []line.Place) {
	s.t.Helper()
	for _, p := range stock {
		if a := s.world.poll(p); a.Status == line.Waiting || a.Status == line.Admitted {
			s.t.Fatalf("%s came back: %+v", name(p.ID), a)
		}
	}
}

// honest: the ten who waited when the line was lost have their places, in order.
func (s *story) honest() {
	s.t.Helper()
	for _, who := range slices.Backward(names("h", 10)) {
		s.poll(who)
	}
	at := int64(0)
	for _, who := range names("h", 10) {
		if a := s.poll(who); a.Status == line.Waiting {
			at++
			a.waits(at)
		}
	}
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
