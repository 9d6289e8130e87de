package sweeper

import (
	"time"
)

// maxJump is how far the store's clock may gain on this process's between two looks. A slow answer causes less, and the
// shortest idle timeout that leaves room for polls is longer.
const maxJump = 5 * time.Second

// Reasons for which a zone is not swept, as in queue_sweep_skipped_total.
const (
	// skipBusy: another server is sweeping it.
	skipBusy = "busy"
	// skipUnwatched: this server has not watched it for an idle timeout yet.
	skipUnwatched = "unwatched"
	// skipJump: the store's clock has jumped forward, an idle timeout ago at most.
	skipJump = "clock_jump"
	// skipLoss: the store has lost data, an idle timeout ago at most. It may not know of the latest polls.
	skipLoss = "loss"
	// skipOverload: this server or the store was overloaded for a part of the idle timeout. Visitors may have polled
	// and not got through.
	skipOverload = "overload"
)

// watch is what the sweeper knows of one zone's clock.
type watch struct {
	// at is when the zone was last looked at, by this process's monotonic clock. storeMillis is what the store's clock
	// said then.
	at          time.Time
	storeMillis int64
	// lostMillis is the last loss that the store had noticed by then, on its clock.
	lostMillis int64
	// since is when the present watch without gaps, jumps and losses began. reason is why the one before ended.
	since  time.Time
	reason string
	// overloaded is when the present overload was first seen, zero while there is none.
	overloaded time.Time
}

// hold takes in whether there is an overload now. It returns for how much longer one keeps the zone from being swept, at
// most for longest in all; 0 or less if it does not.
func (w *watch) hold(now time.Time, overloaded bool, longest time.Duration) time.Duration {
	switch {
	case !overloaded:
		w.overloaded = time.Time{}
		return 0
	case w.overloaded.IsZero():
		w.overloaded = now
	}
	return longest - now.Sub(w.overloaded)
}

// look takes in what the store's clock says and when it lost something, and returns why the zone must not
// be swept now, or "" if it may be. jump is how far the store's clock has
// jumped forward since the last look, if too far, else 0. The first look at a
// zone is the zero watch's.
func (w *watch) look(now time.Time, storeMillis, lostMillis int64, idleTimeout time.Duration) (skip string, jump time.Duration) {
	if w.at.IsZero() {
		w.since, w.reason = now, skipUnwatched
	} else {
		stores := time.Duration(storeMillis-w.storeMillis) * time.Millisecond
		if gained := stores - now.Sub(w.at); gained > maxJump {
			jump = gained
			w.since, w.reason = now, skipJump
		}
		if lostMillis != w.lostMillis {
			w.since, w.reason = now, skipLoss
		}
	}
	w.at, w.storeMillis, w.lostMillis = now, storeMillis, lostMillis
	if now.Sub(w.since) < idleTimeout {
		return w.reason, jump
	}
	return "", jump
}
