package zones

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// errHeld: the visitor is held without an answer of the store.
var errHeld = fmt.Errorf("zones: held: %w", line.ErrStoreUnavailable)

// idleGain is how fast the reach of local admission catches up. The reach advances by one millisecond of the line each
// millisecond, and by idleGain more for each millisecond in which nobody took the share. A share lies idle where visitors
// have left, or have gone to other servers. Example: after 10 s, of which 2 s lay idle, the reach is 18 s. Where 35 % of the line
// are gone, nine tenths of the share are used.
const idleGain = 4

// share returns what one of so many servers may admit by itself: a rate, and how many at once. The limits of the window,
// of the minute and, if an operator set it, of the second are divided by the servers and rounded down, so that all of
// them together stay within each. At most a quarter of a second's worth enters at once. 0: the servers have no share.
func share(s zone.Settings, servers int64) (limit rate.Limit, burst int) {
	r := window.RatesOf(s)
	inWindow := r.Limit / servers
	most := max(1, inWindow*window.SecondMillis/4/r.WindowMillis)
	// A bucket of n that fills at a rate lets through less than n + rate * span within any span. A millisecond is added
	// to each span, as a reserve for the rounding of times.
	limit = rate.Inf
	within := func(permits, spanMillis int64) {
		limit = min(limit, rate.Limit(max(0, permits+1-most))*1000/rate.Limit(spanMillis+1))
	}
	within(inWindow, r.WindowMillis)
	within(r.PerMinute/servers, window.MinuteMillis)
	if s.MaxPerSecond > 0 {
		most = min(most, max(1, int64(s.MaxPerSecond)/servers))
		within(int64(s.MaxPerSecond)/servers, window.SecondMillis)
	}
	return limit, int(most)
}

// admits reports whether servers admit to a zone while its store is away: the zone asks for that, and its limits leave a
// share to every server.
func admits(s zone.Settings, servers int64) bool {
	if s.OnStoreFailure != zone.FailureAdmit {
		return false
	}
	limit, _ := share(s, servers)
	return s.Mode == zone.ModeOpen || limit > 0
}

// pauseMillis is how long after the phase away began local admission begins: when no window holds an admission of the
// store any more, so that no window holds admissions of both. In a minute that holds both there are at most as many as
// in one of the store, if whole windows fill it to the limit. Where they do not, or the zone has a burst, the pause is a
// minute. It is at least 2 * Apart, so that an outage in which one server admits is one for all servers.
func pauseMillis(s zone.Settings) int64 {
	r := window.RatesOf(s)
	if s.Burst > 0 || r.Limit*window.MinuteMillis > r.PerMinute*r.WindowMillis {
		return window.MinuteMillis
	}
	return max(r.WindowMillis, 2*Apart.Milliseconds())
}

// admit lets a visitor in, repeats an admission, or refuses: see decision 0004. A newcomer who is admitted gets an arrival that
// the store gave out before: a later one would have the store believe that it lost data. The caller holds the outage's mu.
func (r *Zones) admit(z *Zone, v visitor, now int64) (line.Told, error) {
	o, nowMillis := &z.outage, now+z.ahead.Load()
	s, known := z.remembered()
	if !known {
		return line.Told{}, errHeld
	}
	if d, ended := z.departures.find(v.place); ended {
		if a, ok := d.admission(v.place, nowMillis); ok {
			return a, nil
		}
		if !v.newcomer {
			return line.Told{Local: true, Answer: line.Answer{Status: line.Gone}}, nil
		}
	}
	m := z.lost()
	// A token is judged as a store judges one whose place it lost, by what was last heard of the line.
	stands := m.SeenAtMillis > 0 && (v.newcomer || v.place.Epoch == m.Epoch && !window.Silent(v.place.DueMillis, m.SeenAtMillis, s))
	if !stands || !r.mayEnter(z, v, now, s) {
		if stands && !v.newcomer {
			o.refusedAt = now
		}
		return line.Told{}, errHeld
	}
	if v.newcomer {
		v.place.ArrivedAtMicros, v.place.Epoch = m.LastArrivalMicros, m.Epoch
	}
	v.place.DueMillis = 0
	a := line.Told{Local: true, Answer: line.Answer{
		Status: line.Admitted, Place: v.place, AdmittedAtMillis: nowMillis, ExpiresAtMillis: nowMillis + s.PassTTL().Milliseconds(),
	}}
	z.departed(&a.Answer, true)
	r.meter.Count(z.id, AdmittedLocally)
	return a, nil
}

// mayEnter reports whether a visitor may enter, and takes a permit of the share if so.
func (r *Zones) mayEnter(z *Zone, v visitor, now int64, s zone.Settings) bool {
	o := &z.outage
	switch {
	case !admits(s, r.servers), now < o.opensAt, now-o.lastFailed > Apart.Milliseconds():
		return false
	case s.EventState.Unopened(now + z.ahead.Load()):
		return false // only the store's clock decides when the zone opens
	case v.newcomer && (s.Mode == zone.ModeClosed || z.lastArrival.Load() == 0):
		return false
	case s.Mode == zone.ModeOpen:
		return true
	case v.newcomer && now-o.refusedAt <= max(window.FarPeriodMillis, window.RatesOf(s).PeriodCapMillis):
		return false
	case !v.newcomer && !z.reached(v.place, now):
		return false
	}
	limit, burst := share(s, r.servers)
	if at := time.UnixMilli(now); limit != o.share.Limit() {
		o.share.SetLimitAt(at, limit)
		o.share.SetBurstAt(at, burst)
	}
	if !o.share.AllowN(time.UnixMilli(now), 1) {
		return false
	}
	o.usedMillis += 1000 / float64(limit)
	return true
}

// reached reports whether a token holder may enter if there is room: the store had released the visitor when it was last
// heard, or would have admitted the visitor by now.
func (z *Zone) reached(p line.Place, now int64) bool {
	stands := z.placed(p).StandsAtMicros()
	return stands <= z.edge.Load() || z.expect(stands, now+z.ahead.Load()) <= z.outage.reach(now)
}

// reach is how far local admission has come: visitors may enter who had waited for so many milliseconds more, had the
// store been there. It is negative before local admission begins.
func (o *outage) reach(now int64) int64 {
	open := now - o.opensAt
	return open + idleGain*max(0, open-int64(o.usedMillis))
}
