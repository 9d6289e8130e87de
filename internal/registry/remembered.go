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
	// settings are in force on this server. stored are the settings that the store had when last seen. Both are the
	// same unless there is a brake.
	settings, stored atomic.Pointer[zone.Settings]
	// draws are the draws in the settings whose seeds this server knows.
	draws atomic.Pointer[[]draw]
	seeds DrawSeeds
	// brake is a change that the store has not taken yet; normally nil.
	brake atomic.Pointer[brake]
	// waiting is how many visitors wait. sampling is true while a goroutine of the background samples the line. model
	// is what is known of how visitors leave; only the goroutine that samples uses it. table says how long visitors
	// wait; nil while that is not known.
	waiting  atomic.Int64
	sampling atomic.Bool
	model    estimate.Model
	table    atomic.Pointer[estimate.Table]
	// before is the last table from before an outage. It is kept until the store answers a visitor again: a sample
	// taken earlier would show a line in which nobody polls.
	before atomic.Pointer[estimate.Table]
	judge  judge
	// seen: this server has seen the zone in the store. Until then only the configuration names it.
	seen atomic.Bool
	// edge and lastArrival only ever rise; see line.Memory. now is the newest time that the zone's clock was heard to
	// show since the zone was last lost; it may fall then, since the clock of a store that took over may be behind.
	// stood, which only rises, is until when the line is known to have stood. After a loss stood does not follow now
	// for one idle timeout: some who waited may not have come back yet, and nobody is swept.
	edge, lastArrival, now, stood atomic.Int64
	// stoodFor is when stood rose, as a time.Duration since the registry was made.
	stoodFor atomic.Int64
	epoch    atomic.Uint32
	// lostAt is the LostAtMillis of line.State that was last heard. told is the lostAt after which the store was last
	// told who had departed; untold if the store has to be told in any case. toldUpTo is up to which time of its clock
	// the store was told of admissions; 0 if it was told of all.
	lostAt, told, toldUpTo atomic.Int64
	departures             departures
	// outside counts admissions that were made without the store.
	outside atomic.Uint64
	// telling: the background is telling the store who departed. silent: the log says already that this fails.
	telling, silent atomic.Bool
	// heals counts how often this zone was put back. A caller that reads it before asking the store can tell whether
	// another put the zone back since.
	heals   atomic.Uint64
	healing background.Shared
	// troubled: the log says already that the zone cannot be put back.
	troubled atomic.Bool
}

// untold differs from every time at which a store may notice a loss.
const untold = -1

// seenWithin is how long a server may hear nothing of a zone while its store answers: each zone is asked once a second.
// So a line is taken to have stood until seenWithin after the last answer.
const seenWithin = time.Second

func (r *Registry) newRemembered(s zone.Settings, seen bool) *remembered {
	z := &remembered{id: s.ZoneID, seeds: r.drawSeeds}
	z.draws.Store(drawsOf(s, z.seeds))
	z.settings.Store(&s)
	z.stored.Store(&s)
	z.seen.Store(seen)
	return z
}

// set takes in the settings that the store has now. The caller holds the registry's mu.
func (z *remembered) set(s zone.Settings) {
	if !z.stored.Load().Equal(s) {
		z.stored.Store(&s)
	}
	z.seen.Store(true)
	z.apply(z.brake.Load())
}

// apply puts the store's settings into force, with brake b applied to them; nil is no brake. The caller holds the
// registry's mu.
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

// learn takes in what an answer says of the line. after is how long after the registry was made the answer came.
func (z *remembered) learn(s line.State, after time.Duration) {
	if s.NowMillis == 0 {
		return // an answer without the zone's state
	}
	raise(&z.edge, s.EdgeMicros)
	raise(&z.lastArrival, s.LastArrivalMicros)
	first := raise(&z.now, s.NowMillis) == 0
	if first {
		z.told.Store(s.LostAtMillis) // that loss was before this server began
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

// memory returns what a store that lost the zone needs to know. z.stood may be of an earlier clock that was ahead, so
// it is cut to z.now.
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

// raise sets v to x if x is higher, and returns what v was. If x is not higher, as in most polls, it costs one load.
func raise(v *atomic.Int64, x int64) (was int64) {
	for {
		old := v.Load()
		if x <= old || v.CompareAndSwap(old, x) {
			return old
		}
	}
}
