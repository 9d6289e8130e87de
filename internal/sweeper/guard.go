package sweeper

import (
	"time"
)

// maxJump is how far the store's clock may gain on this process's between two
// looks. It is above what a slow answer makes of it, and below the shortest
// idle timeout that leaves room for polls.
const maxJump = 5 * time.Second

// Reasons for which a zone is not swept, as in queue_sweep_skipped_total.
const (
	// skipBusy: another server is sweeping it.
	skipBusy = "busy"
	// skipUnwatched: this server has not watched it for an idle timeout yet.
	skipUnwatched = "unwatched"
	// skipJump: the store's clock has jumped forward, an idle timeout ago at most.
	skipJump = "clock_jump"
	// skipLoss: the store has lost something, an idle timeout ago at most. It may know
	// nothing of the latest polls.
	skipLoss = "loss"
	// skipOverload: this server or the store was overloaded for a part of the idle timeout. Who
	// could not get through has tried.
	skipOverload = "overload"
)

// watch is what the sweeper knows of one zone's clock.
type watch struct {
	// at is when the zone was last looked at, by this process's monotonic
	// clock, and storeMillis what the store's clock said then.
	at          time.Time
	storeMillis int64
	// lostMillis is when the store had noticed a loss then, on its clock.
	lostMillis int64
	// since is when the present watch without gaps, jumps and losses began, and why
	// the one before ended.
	since  time.Time
	reason string
	// swept is when this server last began to sweep it.
	swept time.Time
}

// sweptLately reports whether the zone was swept so lately that the run after this one is soon enough: the
// last began within the span. Runs of a schedule may be a second off.
func (w *watch) sweptLately(now time.Time, span time.Duration) bool {
	return !w.swept.IsZero() && now.Sub(w.swept) < span+time.Second
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
