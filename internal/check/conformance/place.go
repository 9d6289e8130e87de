package conformance

import (
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// placeStories: the order of the line, and the clock that it goes by.
var placeStories = map[string]func(*story){
	"two in one microsecond keep an order": func(s *story) {
		s.full()
		a, b := s.join("a"), s.join("b")
		a.waits(1)
		b.waits(2)
		s.equal("b arrived after a by", b.Place.ArrivedAtMicros-a.Place.ArrivedAtMicros, int64(1))
		in := s.pollAll([]string{"b", "a"}, 250*milli, 13*second)
		s.equal("in their order", slices.Equal(in, []string{"a", "b"}), true)
	},

	"arrivals grow while the clock stands still or is set back": func(s *story) {
		s.full()
		last := s.tokens["first"].ArrivedAtMicros
		for i, back := range []time.Duration{0, 0, time.Microsecond, second, time.Hour, 0} {
			s.after(-back)
			a := s.join(names("v", 6)[i])
			a.waits(int64(i + 1))
			s.equal("later than the last by", a.Place.ArrivedAtMicros-last, int64(1))
			last = a.Place.ArrivedAtMicros
		}
		s.after(2 * time.Hour)
		s.equal("later than the last", s.join("then").Place.ArrivedAtMicros > last, true)
	},

	"time does not go back, and runs slower until the clocks agree": func(s *story) {
		s.full()
		s.join("a").waits(1)
		then := s.model.now
		s.after(-time.Hour)
		a := s.poll("a")
		a.waits(1)
		s.equal("now", a.State.NowMillis, then)
		s.after(6 * second)
		a = s.poll("a")
		a.waits(1)
		s.equal("a tenth less than six seconds later", a.State.NowMillis, then+5400)
		s.after(second)
		a = s.poll("a")
		a.enters()
		s.equal("a tenth less than seven seconds later", a.State.NowMillis, then+6300)
		early := s.clock.Now().UnixMilli() - (a.AdmittedAtMillis - a.AheadMillis)
		s.equal("let in at the time of the store's clock, or the millisecond before", early == 0 || early == 1, true)
		s.after(minute)
		again := s.poll("a")
		s.equal("asked again, it is as far ahead", again.AheadMillis, a.AheadMillis)
		s.after(10 * time.Hour)
		s.equal("nobody is ahead, in the end", s.join("b").AheadMillis, int64(0))
		s.equal("the store's clock, in the end", s.stats().State.NowMillis, s.clock.Now().UnixMilli())
	},

	"who leaves makes room for those behind": func(s *story) {
		s.full()
		for i, v := range []string{"a", "b", "c"} {
			s.join(v).waits(int64(i + 1))
		}
		s.leave("b")
		s.poll("c").waits(2)
		s.poll("b").gone()
		s.leave("b")
		s.totals(line.Totals{Joined: 4, Admitted: 1, Left: 1})
		old := s.tokens["b"]
		s.join("b").waits(3)
		s.equal("a new place", s.tokens["b"].ArrivedAtMicros > old.ArrivedAtMicros, true)
	},

	"who is in and leaves makes no room": func(s *story) {
		s.full()
		s.join("a").waits(1)
		first := s.poll("first")
		s.leave("first")
		s.poll("first").enteredBefore(first)
		s.poll("a").waits(1)
		s.totals(line.Totals{Joined: 2, Admitted: 1})
	},

	"who is late keeps nobody waiting, and goes first on return": func(s *story) {
		s.full()
		for i, v := range []string{"a", "b", "c"} {
			s.join(v).waits(int64(i + 1))
		}
		in := s.pollAll([]string{"b", "c"}, 250*milli, 6*second+250*milli)
		s.equal("b, while a was away", slices.Equal(in, []string{"b"}), true)
		st := s.stats().State
		s.equal("released and overdue", st.Released-st.Live, int64(1))
		s.poll("a").waits(1)
		s.poll("c").waits(2)
		in = s.pollAll([]string{"c", "a"}, 250*milli, 6*second+250*milli)
		s.equal("then a", slices.Equal(in, []string{"a"}), true)
	},

	"late by a second is not late": func(s *story) {
		// Three are kept near the front, and d is the fourth.
		s.full()
		for _, v := range []string{"a", "b", "c"} {
			s.join(v)
		}
		d := s.join("d")
		s.equal("far", d.State.Released, int64(3))
		grace := time.Duration(d.PeriodMillis+1000) * milli
		s.pollAll([]string{"a", "b", "c"}, grace, grace)
		s.leave("a")
		st := s.stats().State
		s.equal("near the front, with d", st.Live, int64(3))
		s.equal("whom the edge found there", st.EdgeLive, int64(4))

		b := s.poll("b")
		s.after(time.Duration(b.PeriodMillis+1000) * milli)
		s.poll("c")
		s.poll("d")
		s.equal("near the front, b too", s.stats().State.Live, int64(3))
		s.after(milli)
		s.equal("without b", s.stats().State.Live, int64(2))
	},

	"everybody who polls when told to gets in, in order": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 20 })
		s.join("x").enters()
		s.join("y").enters()
		all := names("v", 30)
		due := map[string]time.Time{}
		for i, v := range all {
			a := s.join(v)
			a.waits(int64(i + 1))
			due[v] = s.clock.Now().Add(time.Duration(a.PeriodMillis) * milli)
		}
		var in []string
		for end := s.clock.Now().Add(2 * minute); len(in) < len(all) && s.clock.Now().Before(end); s.after(50 * milli) {
			for _, v := range all {
				if at, waits := due[v]; waits && !s.clock.Now().Before(at) {
					a := s.poll(v)
					due[v] = s.clock.Now().Add(time.Duration(a.PeriodMillis) * milli)
					if a.Status == line.Admitted {
						in = append(in, v)
						delete(due, v)
					}
				}
			}
		}
		s.equal("in their order", slices.Equal(in, all), true)
		s.equal("most in a window", s.mostIn(6*second), 2)
	},
}
