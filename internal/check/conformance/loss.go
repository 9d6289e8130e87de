package conformance

import (
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// lossStories: the store loses its data, and is shown tokens that are not of it.
var lossStories = map[string]func(*story){
	"a token of another installation is refused, and does not fill the window": func(s *story) {
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

	"who came late, and whose poll was lost, has an idle timeout to come again": func(s *story) {
		s.full()
		period := s.join("late").PeriodMillis
		s.join("silent").waits(2)
		s.after(time.Duration(period)*milli + minute)
		// The late one polls, and so does another. Then a node takes over that knows of neither.
		newest := s.tokens["silent"]
		newest.ID = visitorID("newest")
		newest.ArrivedAtMicros = s.clock.Now().UnixMicro()
		newest.DueMillis = s.clock.Now().UnixMilli() + period
		s.equal("of one that was lost", s.fixture.poll(newest).Restored, true)
		s.after(milli)
		s.equal("swept", s.sweep(), int64(0))
		s.after(30 * second)
		s.poll("late")
		s.after(30*second + milli)
		s.equal("swept an idle timeout after the loss", s.sweep(), int64(1))
		s.equal("the silent one", s.poll("silent").Status, line.Gone)
	},
}

// stock makes ten honest visitors wait, and keeps the tokens of fifteen others, who are
// dead: five were used, five left, five were swept. None of them is old.
func (s *story) stock() {
	s.t.Helper()
	s.zone(func(z *zone.Settings) { z.PerMinute, z.IdleTimeoutSeconds = 50, 60 })
	used, left, swept := names("u", 5), names("l", 5), names("s", 5)
	for _, who := range names("x", 5) {
		s.join(who).enters()
	}
	for _, who := range slices.Concat(used, left, swept) {
		s.join(who)
		s.dead = append(s.dead, s.tokens[who])
	}
	in := s.pollAll(used, 250*milli, 20*second)
	s.equal("used", len(in), 5)
	s.after(70 * second)
	for _, who := range left {
		s.poll(who)
	}
	s.equal("swept", s.sweep(), int64(5))
	for _, who := range left {
		s.dead = append(s.dead, s.tokens[who])
		s.leave(who)
	}
	s.zone(func(z *zone.Settings) { z.PerMinute = 10 })
	for _, who := range names("h", 10) {
		s.join(who)
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
