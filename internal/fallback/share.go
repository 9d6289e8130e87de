package fallback

import (
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// share is what one of so many servers may admit by itself. Rounded down, so
// that all of them together stay within the zone's limits; but where the operator left
// the second to us, rounded up: an even flow is not to cost half the share of many servers,
// or to hold a zone.
func share(s zone.Settings, servers int64) window.Rates {
	r := window.RatesOf(s)
	r.PerMinute /= servers
	r.Limit /= servers
	if s.MaxPerSecond <= 0 {
		r.PerSecond += servers - 1
	}
	r.PerSecond = min(r.Limit, r.PerSecond/servers)
	return r
}

// admits reports whether a zone may be admitted to while its store is away: it
// asks for that, and has a share for everybody.
func admits(s zone.Settings, servers int64) bool {
	if s.OnStoreFailure != zone.FailureAdmit {
		return false
	}
	r := share(s, servers)
	return s.Mode == zone.ModeOpen || r.Limit > 0 && r.PerMinute > 0 && r.PerSecond > 0
}

// lostTo is a server's share of what the store may have admitted up to now. It
// is rounded up: where the store admitted S since some moment, all servers
// together count at least S, or so many that none of them has room.
func lostTo(s zone.Settings, servers, now int64) window.Phantoms {
	r := window.RatesOf(s)
	return window.Phantoms{
		AtMillis: now, WindowMillis: r.WindowMillis,
		Limit: (r.Limit + s.Burst + servers - 1) / servers, PerMinute: r.PerMinute / servers,
	}
}

// holdMillis is how long after the last local admission the store may admit again,
// in milliseconds: from one window to a minute.
//
// Let a batch be as many as one window may hold, burst included, and let n of
// them fit into the limit of a minute. With nothing but the limit of the window
// to hold them, admissions on both sides of a pause come in at most
// 2 + (60 s - pause)/window batches a minute: with a pause of
// 60 s - (n-1) windows, in n. Where n windows are a minute, as with 600 a
// minute and windows of 6 s, that is one window.
//
// A minute that reaches from before the outage to after it has a third side,
// and a second pause, of one window: still no more than n.
func holdMillis(s zone.Settings) int64 {
	r := window.RatesOf(s)
	n := max(1, r.PerMinute/(r.Limit+s.Burst))
	return window.MinuteMillis - (n-1)*r.WindowMillis
}
