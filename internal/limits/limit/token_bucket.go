package limit

// tokenBucket keeps the debt: what was taken and has not come back. In its unit a permit is the window in milliseconds, and
// the limit comes back each millisecond.
type tokenBucket struct{}

func (tokenBucket) maxLimit() int64 { return MaxLimit }
func (tokenBucket) burst() bool     { return true }

func (tokenBucket) permits(r Rule) int64 {
	if r.Burst > 0 {
		return r.Burst
	}
	return r.Limit
}

func (b tokenBucket) fitted(r Rule, limit, atOnce func(int64) int64) Rule {
	r.Limit, r.Burst = limit(r.Limit), atOnce(b.permits(r))
	return r
}

func (tokenBucket) advance(r Rule, s State, now int64) view {
	v := view{moment: now, at: now}
	switch {
	case s.held == 0:
	case s.at-now > r.millis():
		v.held, v.mended = s.held, true
	default:
		v.moment = max(now, s.at)
		v.at = v.moment
		// If all of the debt is back, held stays 0. The product cannot overflow.
		if back := v.moment - s.at; back < ceil(s.held, r.Limit) {
			v.held = s.held - back*r.Limit
		}
	}
	return v
}

func (tokenBucket) short(r Rule, v view, cost int64) int64 {
	if over := v.held + (cost-r.Permits())*r.millis(); over > 0 {
		return ceil(over, r.Limit)
	}
	return 0
}

func (tokenBucket) take(r Rule, v view, _, cost int64) (after view, delay int64) {
	v.held += cost * r.millis()
	return v, 0
}

func (tokenBucket) left(r Rule, v view) (remaining, reset int64) {
	return (r.Permits()*r.millis() - v.held) / r.millis(), ceil(v.held, r.Limit)
}
