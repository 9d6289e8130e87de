package conformance

import (
	"time"

	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// mostExamined is how many tokens one call of a sweep may look at.
const mostExamined = 5_000

// idle is after how long whoever is silent may be swept, whatever was told last: the
// default idle timeout, and the longest period.
const idle = minute + 20*second

// sweepStories: who fell silent is removed, and nobody else.
var sweepStories = map[string]func(*story){
	"missed for longer than the idle timeout": func(s *story) {
		s.full()
		s.zone(func(z *zone.Settings) { z.IdleTimeoutSeconds = 5 })
		a := s.join("a")
		a.waits(1)
		s.join("b").waits(2)
		s.after(2 * second)
		s.poll("b").waits(2)
		s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 0, 5 })
		s.after(time.Duration(a.PeriodMillis)*milli + 3*second)
		s.equal("missed for as long as that", s.sweep(), int64(0))
		s.after(milli)
		s.equal("missed for longer", s.sweep(), int64(1))
		s.poll("a").gone()
		s.poll("b").waits(1)
		s.totals(line.Totals{Joined: 3, Admitted: 1, Swept: 1})
	},

	"a longer idle timeout holds for those who wait already": func(s *story) {
		s.full()
		s.zone(func(z *zone.Settings) { z.IdleTimeoutSeconds = 5 })
		s.join("a").waits(1)
		s.after(10 * second)
		s.zone(func(z *zone.Settings) { z.IdleTimeoutSeconds = 60 })
		s.equal("swept", s.sweep(), int64(0))
		s.zone(func(z *zone.Settings) { z.IdleTimeoutSeconds = 5 })
		s.equal("swept", s.sweep(), int64(1))
	},

	"a shorter idle timeout spares those who were told to come back later": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 0 })
		s.join("a").waits(1)
		s.after(minute)
		a := s.poll("a")
		a.waits(1)
		period := time.Duration(a.PeriodMillis) * milli
		s.equal("longer than the timeout to come", period > 5*second, true)
		s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 0, 5 })
		s.after(3 * period)
		s.equal("swept", s.sweep(), int64(0))
		s.after(milli)
		s.equal("swept", s.sweep(), int64(1))
	},

	"in batches, to the end of the line": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 0, 5 })
		const people, silent = 12_000, 2_000
		answers := s.joinMany(people, func(i int) line.ID {
			id := crowdID(i)
			if i < people/4 && i%(people/silent) == 0 {
				// So many of them have ids that are near each other.
				id[0], id[1] = 0, 0
			}
			return id
		})
		s.after(7 * second)
		each(people, func(i int) {
			// Who is silent is spread over the line, and over the ids.
			if i%(people/silent) != 0 {
				s.pollNow(answers[i].Place)
			}
		})
		sum := func() (sum line.Sweep) {
			calls := s.sweepOf(s.stores[0])
			for _, c := range calls {
				if c.Busy || c.Examined > mostExamined {
					s.t.Fatalf("a call of a sweep: %+v", c)
				}
				sum.Examined += c.Examined
				sum.Removed += c.Removed
			}
			return sum
		}
		first := sum()
		s.equal("removed", first.Removed, int64(silent))
		s.equal("all examined", first.Examined >= people, true)
		s.equal("the next time", sum(), line.Sweep{Examined: people - silent})
	},

	"nothing stays of a crowd that has gone": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 60 })
		s.stats()
		before := s.footprint()
		all := names("v", 60)
		for _, v := range all {
			s.join(v)
		}
		for _, v := range all[40:50] {
			s.leave(v)
		}
		s.pollAll(all[:20], 250*milli, 20*second)
		s.after(minute)
		s.sweep()
		st := s.stats()
		s.equal("waiting", st.State.Waiting, int64(0))
		s.equal("somebody was swept", st.Totals.Swept > 0, true)
		s.after(5 * minute)
		s.sweep()
		if after := s.footprint(); !maps.Equal(after, before) {
			s.t.Fatalf("the store holds %v, it held %v", after, before)
		}
	},

	"nothing stays of a crowd that was let in": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PassTTLSeconds = 10 })
		s.stats()
		before := s.footprint()
		for _, v := range names("v", 50) {
			s.join(v).enters()
		}
		s.after(minute)
		s.sweep()
		s.equal("all of the last minute is known", s.stats().State.InMinute, int64(50))
		s.after(milli)
		s.sweep()
		if after := s.footprint(); !maps.Equal(after, before) {
			s.t.Fatalf("the store holds %v, it held %v", after, before)
		}
	},

	"the silent cost the others no capacity": func(s *story) {
		s.zone(func(z *zone.Settings) { z.PerMinute = 60 })
		for _, v := range names("in", 6) {
			s.join(v).enters()
		}
		all := names("v", 100)
		for _, v := range all {
			s.join(v)
		}
		// Nine of ten go. They are overdue at first, and are swept later.
		var stay []string
		for i := 9; i < len(all); i += 10 {
			stay = append(stay, all[i])
		}
		in := s.pollAll(stay, 250*milli, 13*second)
		s.equal("in their order", slices.Equal(in, stay), true)
	},
}

func (s *story) footprint() map[string]int {
	s.t.Helper()
	return s.stores[0].Footprint(s.t, s.zoneID)
}
