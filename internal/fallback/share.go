package fallback

import (
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// share returns what one of so many servers may admit by itself. It is rounded down, so that all of them together stay
// within the zone's limits. Only the limit of the second, if it is auto, is rounded up: rounded down, an even flow could
// cost many servers half their share, or hold the zone.
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

// admits reports whether servers admit to a zone while its store is away: the zone asks for that, and its limits leave a
// share to every server.
func admits(s zone.Settings, servers int64) bool {
	if s.OnStoreFailure != zone.FailureAdmit {
		return false
	}
	r := share(s, servers)
	return s.Mode == zone.ModeOpen || r.Limit > 0 && r.PerMinute > 0 && r.PerSecond > 0
}

// lostTo returns a server's share of what the store may have admitted up to now. It is rounded up: if the store admitted
// S since some moment, all servers together count at least S, or so many that none of them has room.
func lostTo(s zone.Settings, servers, now int64) window.Phantoms {
	r := window.RatesOf(s)
	return window.Phantoms{
		AtMillis: now, WindowMillis: r.WindowMillis,
		Limit: (r.Limit + s.Burst + servers - 1) / servers, PerMinute: r.PerMinute / servers,
	}
}

// holdMillis returns how long after the last local admission the store may admit again, in milliseconds: from one window
// to a minute.
//
// Let a batch be as many admissions as one window may hold, burst included. Let n batches fit into the limit of a
// minute. If only the limit of the window holds, a minute that contains a pause has at most 2 + (60 s - pause)/window
// batches. With a pause of 60 s - (n-1) windows that is n batches. Where n windows are a minute, as with 600 a minute
// and windows of 6 s, the pause is one window.
//
// A minute that reaches from before the outage to after it contains a second pause, of one window: so it has n batches
// at most, too.
func holdMillis(s zone.Settings) int64 {
	r := window.RatesOf(s)
	n := max(1, r.PerMinute/(r.Limit+s.Burst))
	return window.MinuteMillis - (n-1)*r.WindowMillis
}
