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
	// RememberLongestMillis is for how long a zone remembers that sessions or passes lived longer than they do now: no
	// session or pass lives longer.
	RememberLongestMillis = 86_400_000
)

// Unknown stands for all who may be inside since data was lost, and of whom nothing else is known. Times are Unix
// milliseconds of the zone's clock.
type Unknown struct {
	// Count is how many are left of Most, which is the most that the store or a server supposed for this loss.
	Count int64 `json:"count"`
	Most  int64 `json:"most"`
	// Those admitted after FromMillis and up to AtMillis, when the loss was noticed, are among them. UntilMillis is until
	// when one of them may be inside.
	FromMillis  int64 `json:"from,omitempty"`
	AtMillis    int64 `json:"at"`
	UntilMillis int64 `json:"until"`
}

// Lose returns the unknown after a loss: so many at most, each for longest at most, in milliseconds.
func Lose(most, now, longest int64) Unknown {
	return Unknown{Count: most, Most: most, AtMillis: now, UntilMillis: now + longest + QuietMillis}
}

// Raise takes in that somebody supposes so many.
func (u Unknown) Raise(most int64) Unknown {
	u.Count, u.Most = u.Count+max(0, most-u.Most), max(u.Most, most)
	return u
}

// Has reports whether an admission may be one of them.
func (u Unknown) Has(atMillis int64) bool {
	return u.Count > 0 && u.FromMillis < atMillis && atMillis <= u.AtMillis
}

// Longest is for how long somebody could be inside by earlier settings, until RememberLongestMillis after their change. Both are
// in milliseconds.
type Longest struct {
	Millis      int64 `json:"millis"`
	UntilMillis int64 `json:"until"`
}

// At is for how long somebody can be inside who could be so for that long by the settings alone.
func (l Longest) At(now, millis int64) int64 {
	if now < l.UntilMillis {
		return max(l.Millis, millis)
	}
	return millis
}

// Change takes in that the settings change, by which it was that long.
func (l Longest) Change(now, was, is int64) Longest {
	if was > is {
		return Longest{l.At(now, was), now + RememberLongestMillis}
	}
	return l
}

// MayBeInside is how many may be inside of at most most, where so many were counted and up to admits may have been admitted
// since. In an open zone the limit does not hold.
func MayBeInside(counted, admits, most int64, open bool) int64 {
	if open {
		return max(counted, most)
	}
	return max(counted, min(counted+admits, most))
}

// Admits is the most that the limits admit within a span, in milliseconds, with the burst.
func (r Rates) Admits(span, burst int64) int64 {
	span = max(0, span)
	return min((span/(r.WindowMillis+1)+1)*(r.Limit+burst), (span/(MinuteMillis+1)+1)*r.PerMinute)
}

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
