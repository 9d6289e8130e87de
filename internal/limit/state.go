package limit

// State is what a store remembers of one key under one rule. The zero State is
// that of a key that has taken nothing.
//
// lua/include has the same arithmetic; a property test holds the two and a plain
// model equal.
type State struct {
	// at is when the debt was what it is, or when the counter's window began. Ms.
	at int64
	// debt of a bucket: a permit is the window in ms, the limit returns each ms.
	debt int64
	// this and before are what was taken in the counter's window and the one
	// before it.
	this, before int64
	// log is when permits were taken, the oldest first. Ms.
	log []int64
}

// Wait returns how many milliseconds after now a request of that cost would be
// allowed, if nobody else took anything until then: 0 if it is allowed now. It
// moves the state to now, but takes nothing. The cost must be 1 to r.Permits().
func (r Rule) Wait(s *State, now, cost int64) int64 {
	at := r.advance(s, now)
	return at - now + r.wait(s, at, cost)
}

// Take takes permits. It is to be called when Wait has just returned 0; it
// returns the delay in milliseconds that a leaky_bucket asks for, else 0.
func (r Rule) Take(s *State, now, cost int64) (delay int64) {
	at := r.advance(s, now)
	switch r.Algorithm {
	case SlidingLog:
		for range cost {
			s.log = append(s.log, at)
		}
	case TokenBucket, LeakyBucket:
		if r.Algorithm == LeakyBucket {
			delay = at - now + ceil(s.debt, r.Limit)
		}
		s.debt += cost * r.millis()
	default:
		s.this += cost
	}
	return delay
}

// Left returns what is left of the rule now, and in how many milliseconds all of
// it is there again, if nobody takes anything until then.
func (r Rule) Left(s *State, now int64) Quota {
	at, w := r.advance(s, now), r.millis()
	var q Quota
	switch r.Algorithm {
	case SlidingLog:
		n := int64(len(s.log))
		q.Remaining = r.Limit - n
		if n > 0 {
			q.ResetMillis = s.log[n-1] + w - at
		}
	case TokenBucket, LeakyBucket:
		q.Remaining = (r.Permits()*w - s.debt) / w
		q.ResetMillis = ceil(s.debt, r.Limit)
	case SlidingCounter:
		e := at - s.at
		q.Remaining = (r.Limit*w - s.before*(w-e) - s.this*w) / w
		if s.before > 0 {
			q.ResetMillis = w - e
		}
		if s.this > 0 {
			q.ResetMillis = 2*w - e
		}
	default:
		q.Remaining = r.Limit - s.this
		if s.this > 0 {
			q.ResetMillis = w - (at - s.at)
		}
	}
	// A limit that was lowered may have been exceeded before.
	q.Remaining = max(0, q.Remaining)
	if q.ResetMillis > 0 {
		q.ResetMillis += at - now
	}
	return q
}

// advance moves the state to now, and returns the moment that it is at: now, or
// later if the clock is behind.
func (r Rule) advance(s *State, now int64) int64 {
	w := r.millis()
	switch r.Algorithm {
	case SlidingLog:
		return r.expire(s, now)
	case TokenBucket, LeakyBucket:
		if s.debt == 0 || s.at-now > w {
			s.at = now
		}
		at := max(now, s.at)
		// Not more than the debt comes back, and no product overflows.
		if back := at - s.at; back >= ceil(s.debt, r.Limit) {
			s.debt = 0
		} else {
			s.debt -= back * r.Limit
		}
		s.at = at
		return at
	default: // the counters
	}
	begun := now - now%w
	switch {
	case s.this == 0 && s.before == 0, s.at-now > w:
		s.at = begun
	case now < s.at:
		return s.at
	case now >= s.at+2*w:
		s.at, s.this, s.before = begun, 0, 0
	case now >= s.at+w:
		s.at, s.this, s.before = s.at+w, 0, s.this
	}
	if r.Algorithm == FixedWindow {
		s.before = 0
	}
	return now
}

// expire drops what a log need not know any more.
func (r Rule) expire(s *State, now int64) int64 {
	n, w := len(s.log), r.millis()
	if n == 0 {
		return now
	}
	newest := s.log[n-1]
	if newest-now > w {
		for i := range s.log {
			s.log[i] = now
		}
		newest = now
	}
	at, old := max(now, newest), 0
	for old < n && s.log[old] <= at-w {
		old++
	}
	s.log = append(s.log[:0], s.log[old:]...)
	return at
}

// wait is how long after at the cost would be allowed. The state is at at.
func (r Rule) wait(s *State, at, cost int64) int64 {
	w := r.millis()
	switch r.Algorithm {
	case SlidingLog:
		if over := int64(len(s.log)) + cost - r.Limit; over > 0 {
			return s.log[over-1] + w - at
		}
	case TokenBucket, LeakyBucket:
		if over := s.debt + cost*w - r.Permits()*w; over > 0 {
			return ceil(over, r.Limit)
		}
	case SlidingCounter:
		return r.fade(s, at-s.at, cost)
	default:
		if s.this+cost > r.Limit {
			return s.at + w - at
		}
	}
	return 0
}

// fade is when so much of a sliding counter has faded that the cost fits, e
// milliseconds after its window began. In the next window this one fades; two
// windows on, nothing is left.
func (r Rule) fade(s *State, e, cost int64) int64 {
	w := r.millis()
	room := (r.Limit - s.this - cost) * w
	switch {
	case s.before*(w-e) <= room:
		return 0
	case room >= 0:
		return w - room/s.before - e
	default:
		return w - e + w - (r.Limit-cost)*w/s.this
	}
}

func (r Rule) millis() int64 { return r.WindowSeconds * 1000 }

// ceil is a/b, rounded up, of what is not negative.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
