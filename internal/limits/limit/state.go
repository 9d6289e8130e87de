package limit

// State is what a store remembers of one key under one rule, in 32 bytes and the log. The
// zero State is that of a key that has taken nothing. A copy shares the log with the
// original, and so must replace it.
//
// lua/limits/include has the same arithmetic under the same names. A property test compares
// both with a plain model.
type State struct {
	// at is the time, in Unix milliseconds, for which the bucket's debt holds, at which
	// the counter's window began, or of the newest permit of the log.
	at int64
	// held is the debt of a bucket, in which a permit is the window in milliseconds, and
	// the limit comes back each millisecond. Of a counter it is what was taken in its window.
	held int64
	// before is what was taken in the previous window of a sliding counter.
	before int64
	log    *ring
}

// Marks is how many permits the log has room for, each of which takes 4 bytes.
func (s *State) Marks() int {
	if s.log == nil {
		return 0
	}
	return len(s.log.marks)
}

// view is a state as it is at some moment. The state itself changes only when the view is kept, so
// a refusal leaves it as it was.
type view struct {
	// at is the moment: now, or later if the clock is behind.
	at int64
	// began is when the counter's window began. Of a log it is when the newest permit was
	// taken.
	began        int64
	held, before int64
	log          ring
	// mended says that the clock was set back, and that the view must be kept even if the
	// request is refused. Else what the state holds would not begin to fade.
	mended bool
}

// advance returns the state as it is at now.
func (r Rule) advance(s *State, now int64) view {
	w := r.millis()
	switch r.Algorithm {
	case SlidingLog:
		return r.expire(s, now)
	case TokenBucket, LeakyBucket:
		if s.held == 0 {
			return view{at: now}
		}
		if s.at-now > w {
			return view{at: now, held: s.held, mended: true}
		}
		v := view{at: max(now, s.at)}
		// If all of the debt is back, held stays 0. The product cannot overflow.
		if back := v.at - s.at; back < ceil(s.held, r.Limit) {
			v.held = s.held - back*r.Limit
		}
		return v
	default: // the counters
	}
	v := view{at: now, began: now - now%w}
	if s.held == 0 && s.before == 0 {
		return v
	}
	switch {
	case s.at-now > w:
		v.held, v.before, v.mended = s.held, s.before, true
	case now < s.at:
		v.at, v.began, v.held, v.before = s.at, s.at, s.held, s.before
	case v.began == s.at:
		v.held, v.before = s.held, s.before
	case v.began == s.at+w:
		v.before = s.held
	}
	if r.Algorithm == FixedWindow {
		v.before = 0
	}
	return v
}

// expire returns the log as it is at now, without the permits that have left the window.
func (r Rule) expire(s *State, now int64) view {
	if s.log == nil {
		return view{at: now}
	}
	v, w := view{log: *s.log, began: s.at}, r.millis()
	if v.began-now > w {
		v.began, v.mended = now, true
		v.log.fill(now)
	}
	v.at = max(now, v.began)
	v.log.drop(v.began, v.began-v.at+w)
	return v
}

// wait is in how many milliseconds after now the cost would be allowed: 0 if it is now.
func (r Rule) wait(v *view, now, cost int64) int64 {
	ms := r.short(v, cost)
	if ms > 0 {
		ms += v.at - now
	}
	return ms
}

// short is in how many milliseconds after the view's moment the cost would be allowed.
func (r Rule) short(v *view, cost int64) int64 {
	w := r.millis()
	switch r.Algorithm {
	case SlidingLog:
		if over := int64(v.log.permits) + cost - r.Limit; over > 0 {
			return v.began - v.log.age(v.began, uint32(over-1)) + w - v.at
		}
	case TokenBucket, LeakyBucket:
		if over := v.held + cost*w - r.Permits()*w; over > 0 {
			return ceil(over, r.Limit)
		}
	case SlidingCounter:
		return r.fade(v, v.at-v.began, cost)
	default:
		if v.held+cost > r.Limit {
			return v.began + w - v.at
		}
	}
	return 0
}

// fade is in how many milliseconds so much of a sliding counter has faded that the cost fits.
// e is how long ago its window began, in milliseconds. Up to the end of this window, before
// fades. In the next window held does, and after that nothing is left.
func (r Rule) fade(v *view, e, cost int64) int64 {
	w := r.millis()
	room := (r.Limit - v.held - cost) * w
	switch {
	case v.before*(w-e) <= room:
		return 0
	case room >= 0:
		return w - room/v.before - e
	default:
		return w - e + w - (r.Limit-cost)*w/v.held
	}
}

// take takes the permits. wait must have returned 0. The result is the delay of a
// leaky_bucket in milliseconds, else 0.
func (r Rule) take(v *view, now, cost int64) (delay int64) {
	switch r.Algorithm {
	case SlidingLog:
		v.log.push(v.at, uint32(cost))
		v.began = v.at
	case TokenBucket, LeakyBucket:
		if r.Algorithm == LeakyBucket {
			delay = v.at - now + ceil(v.held, r.Limit)
		}
		v.held += cost * r.millis()
	default:
		v.held += cost
	}
	return delay
}

// left is how many permits of the rule are left, and in how many milliseconds after now all of
// them are there again if none is taken.
func (r Rule) left(v *view, now int64) Quota {
	w := r.millis()
	var q Quota
	switch r.Algorithm {
	case SlidingLog:
		q.Remaining = r.Limit - int64(v.log.permits)
		if v.log.permits > 0 {
			q.ResetMillis = v.began + w - v.at
		}
	case TokenBucket, LeakyBucket:
		q.Remaining = (r.Permits()*w - v.held) / w
		q.ResetMillis = ceil(v.held, r.Limit)
	case SlidingCounter:
		e := v.at - v.began
		q.Remaining = ((r.Limit-v.held)*w - v.before*(w-e)) / w
		if v.before > 0 {
			q.ResetMillis = w - e
		}
		if v.held > 0 {
			q.ResetMillis = 2*w - e
		}
	default:
		q.Remaining = r.Limit - v.held
		if v.held > 0 {
			q.ResetMillis = w - (v.at - v.began)
		}
	}
	// Remaining is negative if the limit was lowered since.
	q.Remaining = max(0, q.Remaining)
	if q.ResetMillis > 0 {
		q.ResetMillis += v.at - now
	}
	return q
}

// keep makes the view what the store remembers.
func (r Rule) keep(s *State, v *view) {
	s.at, s.held, s.before = v.at, v.held, v.before
	switch r.Algorithm {
	case SlidingLog:
		s.at = v.began
		if s.log == nil {
			s.log = new(ring)
		}
		*s.log = v.log
	case SlidingCounter, FixedWindow:
		s.at = v.began
	default: // the buckets
	}
}

func (r Rule) millis() int64 { return r.WindowSeconds * 1000 }

// ceil is a/b, rounded up. a must not be negative.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
