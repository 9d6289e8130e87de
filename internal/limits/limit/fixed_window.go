package limit

// fixedWindow counts what was taken in this window of the clock.
type fixedWindow struct{ counter }

func (fixedWindow) advance(r Rule, s State, now int64) view {
	v := counter{}.advance(r, s, now)
	v.before = 0
	return v
}

func (fixedWindow) short(r Rule, v view, cost int64) int64 {
	if v.held+cost > r.Limit {
		return v.at + r.millis() - v.moment
	}
	return 0
}

func (fixedWindow) left(r Rule, v view) (remaining, reset int64) {
	if v.held > 0 {
		reset = v.at + r.millis() - v.moment
	}
	return r.Limit - v.held, reset
}
