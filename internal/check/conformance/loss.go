package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lossStories: the store loses its data, and no token that is dead comes back (G11).
var lossStories = map[string]func(*story){
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
			s.fixture.poll(p)
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
		s.equal("a poll", s.fixture.poll(alien).Status, line.Gone)
		s.equal("in the window", s.stats().State.InWindow, int64(0))
		s.join("a").enters()
	},

	"a line begun with tokens of version 1 goes on with them": func(s *story) {
		s.full()
		s.join("a").waits(1)
		s.join("b").waits(2)
		m := s.memory()
		m.Epoch = 0
		s.lose(m)
		old := place(s.tokens["a"])
		a := s.fixture.poll(old)
		s.equal("restored", a.Restored, true)
		s.equal("the token", a.Place.Epoch, uint32(0))
		s.lose(s.memory())
		s.equal("restored again", s.fixture.poll(old).Restored, true)
		s.pollAll([]string{"a", "b"}, 250*milli, 2*minute)
		s.after(10 * minute)
		// The line is at its end; the next begins with tokens of its own.
		s.equal("the token of the next", s.join("c").Place.Epoch > 0, true)
		s.lose(s.memory())
		s.equal("of the last line", s.fixture.poll(old).Status, line.Gone)
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
		if a := s.fixture.poll(p); a.Status == line.Waiting || a.Status == line.Admitted {
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
