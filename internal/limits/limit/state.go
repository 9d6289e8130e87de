package limit

// State is what a store remembers of one key under one rule, in 32 bytes and the log. The
// zero State is that of a key that has taken nothing. A copy shares the log with the
// original, and so must replace it.
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
	// moment is now, or later if the clock is behind.
	moment int64
	// at, held, before and log are those of the state.
	at, held, before int64
	log              ring
	// mended says that the clock was set back, and that the view must be kept even if the
	// request is refused. Else what the state holds would not begin to fade.
	mended bool
}

// keep makes a view what the store remembers.
func (s *State) keep(v view) {
	s.at, s.held, s.before = v.at, v.held, v.before
	if v.log.marks == nil {
		return
	}
	if s.log == nil {
		s.log = new(ring)
	}
	*s.log = v.log
}
