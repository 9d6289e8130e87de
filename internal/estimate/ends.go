package estimate

import (
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// exits says when visitors enter a zone with a cap in which each stays for the same time.
type exits struct {
	line.Ends
	// now, or the opening to come, is Unix milliseconds; stay, and each that enters through room, take so many milliseconds.
	now, stay, each float64
}

// enters is when a visitor enters before whom so many enter, in Unix milliseconds.
func (e *exits) enters(ahead float64) float64 {
	room, most, later := float64(e.Room), float64(e.Room+e.Known), 0.0
	// Behind all who are inside, a visitor waits for one who enters in their place.
	if turns := math.Floor(ahead / most); turns > 0 {
		ahead, later = ahead-turns*most, turns*e.stay
	}
	rank := ahead - room // of the stay that has to end
	if rank < 0 {
		return e.now + ahead*e.each + later
	}
	n := int64(len(e.Millis))
	for i := int64(1); i < n; i++ {
		from, to := float64(line.EndRank(i-1, n, e.Known)), float64(line.EndRank(i, n, e.Known))
		if rank <= to {
			at := float64(e.Millis[i-1])
			if to > from {
				at += max(0, rank-from) / (to - from) * float64(e.Millis[i]-e.Millis[i-1])
			}
			return max(e.now, at) + later
		}
	}
	return max(e.now, float64(e.Millis[max(0, n-1)])) + later
}

// doubt is how far the logarithm of the wait may be off, since some more or fewer enter before: those who come together leave together,
// so a few places can make a difference of a whole stay.
func (e *exits) doubt(ahead float64) float64 {
	wait := func(ahead float64) float64 { return math.Log(max(clump, e.enters(max(0, ahead))-e.now)) }
	some := miscounted*ahead + 1
	return max(wait(ahead+some)-wait(ahead), wait(ahead)-wait(ahead-some))
}

// miscounted is the share by which the number of those who enter before a visitor may be off.
const miscounted = 0.2

// exitsOf returns nil where the ends do not tell: somebody left before the end, as the sample says, or nothing is known of them.
func exitsOf(s *line.Observation, early bool) *exits {
	if early || s.Ends.Room+s.Ends.Known <= 0 {
		return nil
	}
	return &exits{s.Ends, float64(max(s.State.NowMillis, s.State.OpensAtMillis)), float64(s.State.LongestMillis), window.MinuteMillis / float64(s.Pace)}
}

// leftInside is how many have left a zone since its data began; where no stay is renewed, those who left before their time was over.
func leftInside(s *line.Observation) (n int64) {
	upto := len(s.Stays)
	if s.Ends.Room+s.Ends.Known > 0 {
		upto = min(upto, window.WaitBucket(s.State.LongestMillis)-1)
	} else {
		n = s.Totals.Unused
	}
	for _, stays := range s.Stays[:max(0, upto)] {
		n += stays
	}
	return n
}
