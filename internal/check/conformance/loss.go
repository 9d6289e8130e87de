package conformance

import (
	"time"

	"github.com/openqueue/waitingroom/internal/line"
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
