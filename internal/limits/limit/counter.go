package limit

// counter is what fixedWindow and slidingCounter have in common: what was taken in this window of the clock, and in the
// one before.
type counter struct{}

func (counter) maxLimit() int64      { return MaxLimit }
func (counter) burst() bool          { return false }
func (counter) permits(r Rule) int64 { return r.Limit }

func (counter) fitted(r Rule, _, atOnce func(int64) int64) Rule {
	r.Limit = atOnce(r.Limit)
	return r
}

func (counter) advance(r Rule, s State, now int64) view {
	w := r.millis()
	v := view{moment: now, at: now - now%w}
	if s.held == 0 && s.before == 0 {
		return v
	}
	switch {
	case s.at-now > w:
		v.held, v.before, v.mended = s.held, s.before, true
	case now < s.at:
		v.moment, v.at, v.held, v.before = s.at, s.at, s.held, s.before
	case v.at == s.at:
		v.held, v.before = s.held, s.before
	case v.at == s.at+w:
		v.before = s.held
	}
	return v
}

func (counter) take(_ Rule, v view, _, cost int64) (after view, delay int64) {
	v.held += cost
	return v, 0
}
