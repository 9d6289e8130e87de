package zones

import (
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Zone is one zone on this server: its settings, and all that the server remembers of it. A call looks the zone up once,
// by Find. When the zone is forgotten, all of this goes with it. Its methods may be called from any number of goroutines.
type Zone struct {
	zones *Zones
	id    string

	// settings are in force on this server. stored are the settings that the store had when last seen. Both are the
	// same unless there is a brake: a change that the store has not taken yet, normally nil.
	settings, stored atomic.Pointer[zone.Settings]
	brake            atomic.Pointer[brake]
	// change is the latest change through this server, guarded by the mu of Zones; nil if all servers have read it.
	change *change
	// generation changes with each change of settings that concerns those who wait. No two zones have the same, and none
	// has 0.
	generation atomic.Uint32
	// seen: this server has seen the zone in the store. Until then only the configuration names it.
	seen atomic.Bool
	// askedAt is when somebody last asked about the zone, on the clock of Millis: see Rests.
	askedAt atomic.Int64
	// draws are the draws in the settings whose seeds this server knows.
	draws atomic.Pointer[[]draw]

	// latest is what the store said last of the zone's line; nil before it said anything.
	latest atomic.Pointer[latest]

	memory
	recall
	healing
	estimates
	outage outage
	// revoked are the admissions that the settings revoke one by one.
	revoked atomic.Pointer[map[jti]bool]
	crowd   insiders
}

// latest is a zone's line at a time of this server's clock.
type latest struct {
	stats    line.Stats
	atMillis int64
}

// healing is how a zone that the store has lost is put back.
type healing struct {
	// restored counts how often this zone was put back. A caller that reads it before asking the store can tell whether
	// another put the zone back since.
	restored atomic.Uint64
	shared   background.Shared
	// unhealed: the log says already that the zone cannot be put back.
	unhealed atomic.Bool
	// absentAt is when the store first did not know a zone of the configuration, on the clock of Millis: see othersFirst.
	absentAt atomic.Int64
}

// estimates are how long those who wait will wait.
type estimates struct {
	// model is what is known of how visitors leave; only the goroutine that observes the zone uses it. table says how
	// long visitors wait; nil while that is not known.
	model estimate.Model
	table atomic.Pointer[estimate.Table]
	// tableBefore is the last table from before an outage, nil outside of one. Estimates go by it until the store answers a visitor
	// again. A sample of the store that is taken before that shows a line in which nobody polls: after an outage of 60 s,
	// all who wait seem to have been silent for a minute.
	tableBefore atomic.Pointer[estimate.Table]
	judge       judge
}

func (r *Zones) newZone(s zone.Settings, seen bool) *Zone {
	z := &Zone{zones: r, id: s.ZoneID}
	z.draws.Store(drawsOf(s, r.drawSeeds))
	z.revoked.Store(revokedOf(s))
	z.settings.Store(&s)
	z.stored.Store(&s)
	z.seen.Store(seen)
	z.generation.Store(r.generations.Add(1))
	return z
}

// ID is the zone's name.
func (z *Zone) ID() string { return z.id }

// Settings are in force on this server. The caller must not change them.
func (z *Zone) Settings() *zone.Settings { return z.settings.Load() }

// Lined reports whether a newcomer would have to line up, as far as this server remembers: people wait or gather, or the zone is
// paused.
func (z *Zone) Lined() bool {
	s := z.settings.Load()
	return z.waiting.Load() > 0 || s.PerMinute == 0 || s.Gate().Holds(z.zones.Millis()+z.ahead.Load())
}

// Open reports whether everybody is admitted.
func (z *Zone) Open() bool {
	s := z.settings.Load()
	return s.Mode == zone.ModeOpen && len(s.SoldOut) == 0
}

// Generation changes with each change of the zone's mode, limits, window, burst or idle timeout. No two zones have the
// same.
func (z *Zone) Generation() uint32 { return z.generation.Load() }

// set takes in the settings that the store has now. The caller holds the mu of Zones.
func (z *Zone) set(s zone.Settings) {
	if !z.stored.Load().Equal(s) {
		z.stored.Store(&s)
	}
	z.seen.Store(true)
	z.apply(z.brake.Load())
}

// apply puts the store's settings into force, with brake b applied to them; nil is no brake. The caller holds the
// mu of Zones.
func (z *Zone) apply(b *brake) {
	z.brake.Store(b)
	s := *z.stored.Load()
	if b != nil {
		s = b.merge(s)
	}
	was := z.settings.Load()
	if was.Equal(s) {
		return
	}
	z.draws.Store(drawsOf(s, z.zones.drawSeeds))
	z.revoked.Store(revokedOf(s))
	z.settings.Store(&s)
	if s.MaxInside > 0 && (was.MaxInside == 0 || was.InsideState.RevokedUpToMillis != s.InsideState.RevokedUpToMillis) {
		z.crowd.tellAgain()
	}
	old, now := was.InForce(), s.InForce()
	if old.Mode != now.Mode || old.IdleTimeoutSeconds != now.IdleTimeoutSeconds || window.RatesOf(old) != window.RatesOf(now) || old.Burst != now.Burst {
		z.generation.Store(z.zones.generations.Add(1))
	}
	if admitsOtherwise(*was, s) {
		z.judge.forget()
	}
}

// remembered returns the settings in force. ok is false for a zone that this server never saw in the store: the
// configuration may say other than the store.
func (z *Zone) remembered() (s zone.Settings, ok bool) {
	if !z.seen.Load() {
		return zone.Settings{}, false
	}
	return z.settings.Load().InForce(), true
}

// answered takes in what the store said to a visitor.
func (z *Zone) answered(a *line.Told) {
	r := z.zones
	if z.judge.looksAt(a.Place.ID) {
		if j, ok := z.judge.hear(a, z.settings.Load().Window().Milliseconds()); ok {
			r.meter.Judged(z.id, j)
		}
	}
	if a.Restored {
		r.meter.Count(z.id, Restored)
	}
	if z.tableBefore.Load() != nil && !a.Remembered {
		z.tableBefore.Store(nil)
	}
	if !a.Remembered {
		z.learn(a.State, r.Millis())
	}
	switch a.Status {
	case line.Admitted, line.AdmittedBefore:
		z.departed(&a.Answer, false)
	case line.Waiting:
		// Until a store that lost data is told who departed, it may put a departed visitor back.
		if z.toldAll() {
			z.departures.stands(a.Place)
		}
	default: // the visitor has no place
	}
}
