package window

import "math"

const (
	// QuietMillis: if a zone with a cap was asked nothing for longer, its store was away, for servers ask once a second.
	// Then whoever was inside before counts for QuietMillis more, so that servers can tell who has renewed meanwhile.
	// As long after a loss nobody enters.
	QuietMillis = 3_000
	// EndBatch is how many stays that are over one call takes off at most. The others do not count either.
	EndBatch = 100
	// rememberMillis is how often half of what is known of stays is forgotten.
	rememberMillis = 120_000
	// FrontMillis is the longest period of the next who enter, while as many are inside as may be: nobody knows when
	// somebody leaves.
	FrontMillis = 1_500
	// StepMillis is the length of a step of line.Memory.Inside.
	StepMillis = 10_000
)

// Stays tell at which rate people leave: Gone have left in the time that those who were inside have stayed for together,
// in milliseconds. Half of both is forgotten every two minutes.
type Stays struct {
	Gone, Stayed int64
	// At is up to when Stayed was counted, Since when half of it was forgotten; Unix milliseconds.
	At, Since int64
}

// To counts up to now the stay of so many who have been inside since At.
func (s Stays) To(now, inside int64) Stays {
	if s.At == 0 {
		s.Since, s.At = now, now
	}
	s.Stayed += inside * (now - s.At)
	s.At = now
	if now-s.Since >= rememberMillis {
		s.Gone, s.Stayed, s.Since = s.Gone/2, s.Stayed/2, now
	}
	return s
}

// PerMinute is how many leave in a minute when as many are inside as may be, at least 1. Without experience one is
// supposed to leave in sessionMillis. As many as stay for two sessions are the least: those who come together leave together,
// and until the first of them leaves there is no experience.
func (s Stays) PerMinute(most, inside, sessionMillis, now int64) int64 {
	s = s.To(now, inside)
	return max(1, most*MinuteMillis/(2*sessionMillis), int64(math.Floor(float64(s.Gone+1)*MinuteMillis/float64(s.Stayed+sessionMillis)*float64(most))))
}

// Through returns the rates of a zone where no more than perMinute leave, while as many are inside as may be.
func (r Rates) Through(perMinute int64) Rates {
	if perMinute < r.Pace {
		r.Pace = perMinute
		r.Flow = min(r.Limit, Limit(r.Pace, r.WindowMillis))
		r.Target = targetOf(r.Flow)
	}
	return r
}

// Leaves is when a visitor with so many ahead enters a zone that is full, as others leave, in Unix milliseconds; now if there
// is room inside.
func (r Rates) Leaves(ahead, room, now int64) int64 {
	if ahead < room {
		return now
	}
	return now + min(MaxEstimateMillis, (ahead-room+1)*MinuteMillis/max(1, r.Pace))
}
