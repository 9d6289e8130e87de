package conformance

import (
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// timeStories: the order of the line, the clock that it goes by, and the wait that visitors are told.
var timeStories = map[string]func(*story){
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
}
