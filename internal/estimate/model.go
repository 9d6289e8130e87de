package estimate

import (
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// Sampled is how many visitors a sample should have: with 512, a share is known to
	// some 2 %.
	Sampled = 512
	// supposed is the share that is assumed to leave where nothing is known. Waiting rooms see 30 to 40 % leave; 20 %
	// keeps the estimate near where nobody leaves, too.
	supposed = 0.20
	// few is how many visitors must have gone through a part to count as much as what is assumed of it: then chance
	// alone moves the share that leaves in the part by a third.
	few = 10.0
	// recall is how far back a sample is asked who left, in milliseconds, unless the idle timeout is shorter: two of the
	// longest periods between two polls of those who are not very far away. Less is chance, more is no longer so.
	recall = 2 * window.FarPeriodMillis
	// gain is the part of a difference by which a new table moves towards what was measured. pull is how much is added
	// to gain for a difference as long as the wait: so chance moves the table little, and a real change much.
	gain, pull = 0.1, 2.0
	// sure is how far the logarithm of a wait may be off if nobody ahead is expected to leave, and leaves what is added
	// if all are. With these, ranges hold four fifths of waits or more where at most 60 % leave,
	// and where the limit of a second is the one that holds, which costs some 6 % of the pace.
	sure, leaves = 0.06, 0.6
	// crowded is what is added while the pace is that of those who leave a full zone, beside what chance makes of the few who have
	// left: one over the root of their number.
	crowded = 0.2
	// memory is for how many milliseconds it counts, in the mean, who came back to places that were set aside.
	memory = 60_000.0
	// clump is the uncertainty that the moments of polls and the length of windows add, in milliseconds: a quarter of
	// the default window.
	clump = 1_500.0
)

// entered are n visitors who entered at a time, and stood in the line since from. Times are Unix milliseconds.
type entered struct{ fromMillis, atMillis, n float64 }

// Model is what is known of the line of one zone. The zero value knows nothing.
// It is for one goroutine at a time; the tables that it makes are for any number.
type Model struct {
	// came are those who entered within recall. admitted is Admitted of the totals in the latest sample.
	came             []entered
	admitted, lostAt int64
	// returned is Returned of the totals in the latest sample, which was taken at atMillis. back is how many came back to places that
	// were set aside, and aside the sum of the milliseconds that such places were: both fade with memory.
	returned, atMillis int64
	back, aside        float64
	// left is leftInside when the zone was last not full.
	left        int64
	table       *Table
	reason      line.Reason
	reasonUntil int64
}

// Learn takes in a sample, and returns the table for estimates from now on. It returns nil if nobody waits, or if the zone
// is on hold and there was no table before. Samples are to come about once a second, in order.
func (m *Model) Learn(s line.Observation, idle time.Duration) *Table {
	now, old := s.State.NowMillis, m.table
	if s.State.Waiting == 0 || len(s.Line) == 0 {
		*m = Model{lostAt: m.lostAt, back: m.back, aside: m.aside}
		return nil
	}
	if s.State.LostAtMillis != m.lostAt {
		old, m.lostAt = nil, s.State.LostAtMillis
	}
	held := s.Pace == 0
	if held {
		if old == nil {
			m.table = nil
			return nil
		}
		// The table is made as if the zone went on now.
		s.Pace, s.FirstMillis, s.SlotMillis = old.pace, now, now+int64(old.slot)-old.at
	}
	if !s.State.Full || held || m.table == nil {
		m.left = leftInside(&s)
	}
	millis := min(recall, float64(idle.Milliseconds()))
	m.enter(&s, millis)
	m.comeBack(&s)
	t := &Table{
		at: now, edge: s.State.EdgeMicros, front: s.FrontMicros, last: s.State.EdgeMicros, pace: s.Pace, held: held, full: s.State.Full && !held, maxInside: s.MaxInside,
		slot: float64(s.SlotMillis), coming: s.Coming, returns: m.back / max(1, m.aside),
	}
	left := leftInside(&s) - m.left
	t.exits, t.doubt = exitsOf(&s, left > 0), crowded+1/math.Sqrt(float64(max(4, left)))
	known := old
	for range 2 { // the waits and the hazard depend on each other
		seen := m.see(&s, millis, known)
		h := hazardOf(&seen)
		t.put(&s, &h)
		known = t
	}
	t.follow(old)
	m.say(t, &s, old)
	m.table = t
	return t
}

// enter notes how many entered since the sample before, and where they stood.
func (m *Model) enter(s *line.Observation, millis float64) {
	now := float64(s.State.NowMillis)
	if m.admitted > 0 && s.Totals.Admitted > m.admitted {
		m.came = append(m.came, entered{float64(s.FrontMicros) / 1000, now, float64(s.Totals.Admitted - m.admitted)})
	}
	m.admitted = s.Totals.Admitted
	for len(m.came) > 0 && m.came[0].atMillis <= now-millis {
		m.came = m.came[1:]
	}
}

// comeBack notes how many came back since the sample before to places that were set aside.
func (m *Model) comeBack(s *line.Observation) {
	if span := float64(s.State.NowMillis - m.atMillis); m.atMillis > 0 && span > 0 {
		keeps := math.Exp(-span / memory)
		m.back = m.back*keeps + float64(max(0, s.Totals.Returned-m.returned))
		m.aside = m.aside*keeps + span*float64(s.Aside)
	}
	m.returned, m.atMillis = s.Totals.Returned, s.State.NowMillis
}

// weightOf is how many visitors each of a sample stands for.
func weightOf(s *line.Observation) float64 { return float64(s.State.Waiting) / float64(len(s.Line)) }
