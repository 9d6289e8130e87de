package limit

// slidingCounter counts what was taken in this window of the clock, and what was taken in the one before, which fades.
type slidingCounter struct{ counter }

// short is in how many milliseconds so much has faded that the cost fits. Up to the end of this window, before fades. In
// the next window held does, and after that nothing is left.
func (slidingCounter) short(r Rule, v view, cost int64) int64 {
	w, e := r.millis(), v.moment-v.at
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

func (slidingCounter) left(r Rule, v view) (remaining, reset int64) {
	w, e := r.millis(), v.moment-v.at
	if v.before > 0 {
		reset = w - e
	}
	if v.held > 0 {
		reset = 2*w - e
	}
	return ((r.Limit-v.held)*w - v.before*(w-e)) / w, reset
}
