package zones

import (
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// memory is what a server has heard of a zone's line. It is read and written by any number of polls at once, without a
// lock.
type memory struct {
	// edge and lastArrival only ever rise; see line.Memory. now is the newest time that the zone's clock was heard to
	// show since the zone was last lost; it may fall then, since the clock of a store that took over may be behind.
	// stood, which only rises, is until when the line is known to have stood. After a loss stood does not follow now
	// for one idle timeout: some who waited may not have come back yet, and nobody is swept.
	edge, lastArrival, now, stood atomic.Int64
	// stoodAt is when stood rose, and ahead by how much the zone's clock was ahead in the latest answer. Both are on
	// this server's clock (Zones.Millis), in milliseconds.
	stoodAt, ahead atomic.Int64
	// waiting is how many visitors wait. lostAt is the LostAtMillis of line.State that was last heard, and lostHeard
	// when that was, on this server's clock, in milliseconds.
	waiting, lostAt, lostHeard atomic.Int64
	// losses is how many losses were heard of, each within losingWithin of the one before.
	losses atomic.Int64
	epoch  atomic.Uint32
}

// seenWithin is how long a server may hear nothing of a zone in which people wait while its store answers: it is asked once a
// second. So a line is taken to have stood until seenWithin after the last answer.
const seenWithin = time.Second

// lateWithin is for how many milliseconds after a loss was heard of an answer from before it may still come.
const lateWithin = 2_000

// learn takes in what an answer that came at millis on this server's clock says of the line.
func (z *Zone) learn(s line.State, millis int64) {
	lost := z.lostAt.Load()
	if s.NowMillis == 0 || lost != s.LostAtMillis && s.NowMillis < lost && millis-z.lostHeard.Load() < lateWithin {
		return // an answer without the zone's state, or from before the loss and late
	}
	z.ahead.Store(s.NowMillis - millis)
	raise(&z.edge, s.EdgeMicros)
	raise(&z.lastArrival, s.LastArrivalMicros)
	first := raise(&z.now, s.NowMillis) == 0
	if first {
		z.told.Store(s.LostAtMillis) // that loss was before this server began
	}
	if s.LongestMillis > 0 {
		z.crowd.hear(z, s, millis, lost != s.LostAtMillis && !first)
	}
	if lost != s.LostAtMillis {
		z.now.Store(s.NowMillis)
		if z.lostAt.Swap(s.LostAtMillis) != s.LostAtMillis && !first {
			z.loses(millis - z.lostHeard.Load())
		}
		z.lostHeard.Store(millis)
	}
	if idle := z.settings.Load().IdleTimeout().Milliseconds(); first || s.NowMillis >= s.LostAtMillis+idle {
		raise(&z.stood, s.NowMillis)
		raise(&z.stoodAt, millis)
	}
	if z.waiting.Load() != s.Waiting {
		z.waiting.Store(s.Waiting)
	}
	if z.epoch.Load() != s.Epoch {
		z.epoch.Store(s.Epoch)
	}
}

// losingWithin and losingAfter: a zone that is lost so often, each time within so many milliseconds of the time before, is lost again and
// again.
const losingWithin, losingAfter = 60_000, 3

// loses takes in that the store has lost data of the zone, so many milliseconds after the time before.
func (z *Zone) loses(after int64) {
	r := z.zones
	r.meter.Count(z.id, Lost)
	if after >= losingWithin {
		z.losses.Store(0)
	}
	if n := z.losses.Add(1); n == losingAfter || n%100 == 0 {
		r.log.Error("the store loses data of the zone again and again, and after each loss nobody is admitted for a window: see what removes "+
			"keys, such as a maxmemory-policy other than noeviction", "zone", z.id, "losses", n)
	}
}

// lost returns what a store that lost the zone needs to know: the zero value for a line of which this server never
// heard. m.stood may be of an earlier clock that was ahead, so it is cut to m.now.
func (m *memory) lost() line.Memory {
	stood := min(m.stood.Load(), m.now.Load())
	if stood == 0 {
		return line.Memory{}
	}
	return line.Memory{
		Epoch: m.epoch.Load(), SeenAtMillis: stood + seenWithin.Milliseconds(),
		EdgeMicros: m.edge.Load(), LastArrivalMicros: m.lastArrival.Load(),
	}
}

// EdgeMicros is the furthest edge that was heard: whoever stands at or before it is released.
func (m *memory) EdgeMicros() int64 { return m.edge.Load() }

// LastArrivalMicros is the newest arrival that was heard of, 0 before any.
func (m *memory) LastArrivalMicros() int64 { return m.lastArrival.Load() }

// AheadMillis is by how much the zone's clock was ahead of Zones.Millis in the latest answer.
func (m *memory) AheadMillis() int64 { return m.ahead.Load() }

// NowMillis returns what the clock of a zone shows, reckoned from the latest answer. It is behind by as long as that
// answer was on its way. It is 0 if the zone gave no answer lately, or if this server's clock has jumped since then.
func (r *Zones) NowMillis(zoneID string) int64 {
	z := r.Known(zoneID)
	if z == nil {
		return 0
	}
	now := r.Millis()
	if since := now - z.stoodAt.Load(); since < 0 || since > reckonedFor {
		return 0
	}
	return now + z.ahead.Load()
}

// Epoch is that of the zone's data: see line.State.
func (m *memory) Epoch() uint32 { return m.epoch.Load() }

// raise sets v to x if x is higher, and returns what v was. If x is not higher, as in most polls, it costs one load.
func raise(v *atomic.Int64, x int64) (was int64) {
	for {
		old := v.Load()
		if x <= old || v.CompareAndSwap(old, x) {
			return old
		}
	}
}
