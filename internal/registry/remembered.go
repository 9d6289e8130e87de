package registry

import (
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

// remembered is one zone in memory. All of it may be read and written by any
// number of polls at once, without a lock.
type remembered struct {
	id string
	// settings are in force on this server. stored are those of the store, as it
	// was last seen: the same, unless there is a brake.
	settings, stored atomic.Pointer[zone.Settings]
	// draws are those of the settings whose seeds this server knows.
	draws atomic.Pointer[[]draw]
	seeds DrawSeeds
	// brake is what the store has not taken yet; nil on all days but the bad ones.
	brake atomic.Pointer[brake]
	// waiting is how many do. model is what is known of how visitors leave, and belongs to the one
	// goroutine that is sampling the line; table tells how long they wait, nil where that is not known.
	waiting  atomic.Int64
	sampling atomic.Bool
	model    estimate.Model
	table    atomic.Pointer[estimate.Table]
	// before is the last table of before an outage, until the store answers a visitor again:
	// in a sample of until then nobody seems to be there.
	before atomic.Pointer[estimate.Table]
	judge  judge
	// seen: the store has been seen to hold this zone. Until then it is one
	// that only the configuration names.
	seen atomic.Bool
	// edge, lastArrival and stood only ever rise; see line.Memory. now is the newest time
	// that was heard of the zone since it was last lost: the clock of who took over may be behind. stood stays behind it for one
	// idle timeout after a loss: until then those who waited may not have come back, and nobody is swept.
	edge, lastArrival, now, stood atomic.Int64
	// stoodFor is when stood rose, as a time.Duration since the registry was made.
	stoodFor atomic.Int64
	epoch    atomic.Uint32
	// lostAt is line.State's LostAtMillis as it was last heard, told the one at which
	// the store was told who had departed; untold if it has to be told anyhow. toldUpTo is up to
	// when of its clock it was told of admissions, where there are later ones; else 0.
	lostAt, told, toldUpTo atomic.Int64
	departures             departures
	// outside counts admissions that were made without the store.
	outside atomic.Uint64
	// telling: the background does. silent: the log says already that the store cannot be told.
	telling, silent atomic.Bool
	// heals counts the times this zone was put back. A caller that reads it
	// before asking the store can tell whether somebody healed it since.
	heals   atomic.Uint64
	healing background.Shared
	// troubled: the log says already that the zone cannot be put back.
	troubled atomic.Bool
}

// untold is no time at which a store notices a loss.
const untold = -1

// seenWithin is how long a zone may not have been heard of while its store answers:
// each is asked once a second. Until then after the last answer a line is taken to
// have stood.
const seenWithin = time.Second

func (r *Registry) newRemembered(s zone.Settings, seen bool) *remembered {
	z := &remembered{id: s.ZoneID, seeds: r.drawSeeds}
	z.draws.Store(drawsOf(s, z.seeds))
	z.settings.Store(&s)
	z.stored.Store(&s)
	z.seen.Store(seen)
	return z
}

// set takes in the settings that the store has. The caller holds the registry's mu.
func (z *remembered) set(s zone.Settings) {
	if !z.stored.Load().Equal(s) {
		z.stored.Store(&s)
	}
	z.seen.Store(true)
	z.apply(z.brake.Load())
}

// apply puts into force what the store has, and a brake, if there is one. The caller
// holds the registry's mu.
func (z *remembered) apply(b *brake) {
	z.brake.Store(b)
	s := *z.stored.Load()
	if b != nil {
		s = b.on(s)
	}
	if was := z.settings.Load(); !was.Equal(s) {
		z.draws.Store(drawsOf(s, z.seeds))
		z.settings.Store(&s)
		if admitsOtherwise(*was, s) {
			z.judge.forget()
		}
	}
}

// learn takes in what an answer says of the line. It came so long after the registry
// was made.
func (z *remembered) learn(s line.State, after time.Duration) {
	if s.NowMillis == 0 {
		return // an answer without the zone's state
	}
	raise(&z.edge, s.EdgeMicros)
	raise(&z.lastArrival, s.LastArrivalMicros)
	first := raise(&z.now, s.NowMillis) == 0
	if first {
		z.told.Store(s.LostAtMillis) // before this server's time
	}
	if z.lostAt.Load() != s.LostAtMillis {
		z.now.Store(s.NowMillis)
		z.lostAt.Store(s.LostAtMillis)
	}
	if idle := z.settings.Load().IdleTimeout().Milliseconds(); first || s.NowMillis >= s.LostAtMillis+idle {
		raise(&z.stood, s.NowMillis)
		raise(&z.stoodFor, int64(after))
	}
	if z.waiting.Load() != s.Waiting {
		z.waiting.Store(s.Waiting)
	}
	if z.epoch.Load() != s.Epoch {
		z.epoch.Store(s.Epoch)
	}
}

// memory is what a store that lost the zone needs to know. The line stood until now at the latest, by
// the clock of now.
func (z *remembered) memory() line.Memory {
	stood := min(z.stood.Load(), z.now.Load())
	if stood == 0 {
		return line.Memory{}
	}
	return line.Memory{
		Epoch: z.epoch.Load(), SeenAtMillis: stood + seenWithin.Milliseconds(),
		EdgeMicros: z.edge.Load(), LastArrivalMicros: z.lastArrival.Load(),
	}
}

// raise sets v to x if that is higher, and returns what it was. In a line that
// stands still, which is most polls, it costs one load.
func raise(v *atomic.Int64, x int64) (was int64) {
	for {
		old := v.Load()
		if x <= old || v.CompareAndSwap(old, x) {
			return old
		}
	}
}
