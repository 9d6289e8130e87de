package zones

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Every method here passes a call on to the store, and puts a lost zone back on the way. The errors wrap
// line.ErrZoneUnknown, line.ErrZoneDeleted or line.ErrStoreUnavailable. What visitors do is in visit.go.

// Stats returns a zone's line as it is at this moment, and what happened in it since the zone's data began.
func (r *Zones) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	z.asked()
	o, err := z.observe(ctx, 0)
	if err != nil {
		return line.Stats{}, err
	}
	return z.estimated(o.Stats), nil
}

// Latest is Stats for callers who come as often as visitors do. What it returns is up to latestMillis old. The store is asked only if
// nobody has asked it since, and once for all who call meanwhile.
func (z *Zone) Latest(ctx context.Context) (line.Stats, error) {
	r := z.zones
	if l := z.latest.Load(); l != nil && r.Millis()-l.atMillis < latestMillis {
		return l.stats, nil
	}
	err := r.share(r.deadlines.bound(ctx), &z.shared, "latest", func(ctx context.Context) error {
		o, err := z.observe(ctx, 0)
		if err == nil {
			z.estimated(o.Stats)
		}
		return err
	})
	if err != nil {
		return line.Stats{}, err
	}
	return z.latest.Load().stats, nil
}

// latestMillis is how old what Latest returns may be, in milliseconds.
const latestMillis = 1_000

// Observe is Stats for the caller that asks each zone once a second, and each that Rests every five. It also makes anew the table by which visitors are
// told how long they will wait. A zone is observed by one goroutine at a time. While the store is away, a zone keeps its
// last table.
func (r *Zones) Observe(ctx context.Context, zoneID string) (line.Stats, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	o, err := z.observe(ctx, sampledEach(int(r.lines.Load())))
	if err != nil {
		z.tableBefore.CompareAndSwap(nil, z.table.Load())
		return line.Stats{}, err
	}
	o.MaxInside = z.settings.Load().MaxInside
	table := z.model.Learn(o, z.settings.Load().IdleTimeout())
	if was := z.table.Swap(table); table.Changed(was) {
		z.judge.forget()
	}
	return z.estimated(o.Stats), nil
}

// observe asks the store for the zone's state, and for at most so many of those who wait.
func (z *Zone) observe(ctx context.Context, most int) (line.Observation, error) {
	r, began := z.zones, time.Time{}
	o, err := ask(ctx, z, store.Observe, func() (line.Observation, error) {
		began = r.now()
		return r.store.Observe(ctx, z.id, most)
	})
	if err == nil {
		z.learn(o.State, r.Millis())
		// The store read its clock at some time during the call. The middle of the call is the best guess.
		half := began.Add(r.now().Sub(began) / 2)
		r.meter.ClockAhead(z.id, time.UnixMilli(o.State.NowMillis).Sub(half))
	}
	return o, err
}

// Sweep implements store.Sweeper.
func (r *Zones) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Sweep{}, err
	}
	return ask(ctx, z, store.Sweep, func() (line.Sweep, error) { return r.store.Sweep(ctx, zoneID, owner, cursor) })
}

// HoldSweeps implements store.Sweeper.
func (r *Zones) HoldSweeps(ctx context.Context, zoneID, owner string, span time.Duration) error {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return err
	}
	_, err = ask(ctx, z, store.Sweep, func() (none, error) { return none{}, r.store.HoldSweeps(ctx, zoneID, owner, span) })
	return err
}

// Ping asks whether the store is there: see store.Store. It returns an error, too, while a zone is left to other servers: see
// othersFirst.
func (r *Zones) Ping(ctx context.Context) error {
	_, err := measured(r, store.Ping, func() (none, error) { return none{}, r.store.Ping(ctx) })
	for _, z := range *r.zones.Load() {
		// A second after its time the zone is put. If it cannot be, readiness does not depend on it.
		if at := z.absentAt.Load(); err == nil && at > 0 && !z.seen.Load() && r.Millis() < at+othersFirst+time.Second.Milliseconds() {
			err = errOthersFirst
		}
	}
	return err
}

// none is the answer of a call that returns only an error.
type none struct{}

// measured makes one call to the store, and reports to the meter how long it took.
func measured[T any](r *Zones, call store.Call, do func() (T, error)) (T, error) {
	began := r.now()
	answer, err := do()
	r.meter.Called(call, r.now().Sub(began), err)
	return answer, err
}

// ask makes a call to the store for a zone that is remembered. If the store does not know the zone, ask puts the zone
// back and makes the call once more.
func ask[T any](ctx context.Context, z *Zone, call store.Call, do func() (T, error)) (T, error) {
	r := z.zones
	if b := z.brake.Load(); b != nil && b.holds(r.now()) {
		// The store would go by the settings of before the brake.
		var nothing T
		return nothing, fmt.Errorf("zones: a change is not in the store yet: %w", line.ErrStoreUnavailable)
	}
	before := z.restored.Load()
	answer, err := measured(r, call, do)
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			answer, err = measured(r, call, do)
		}
		if errors.Is(err, line.ErrZoneUnknown) {
			// The store lost the zone again at once. This server remembers it, so "unknown" would be wrong:
			// visitors would throw their places away.
			err = fmt.Errorf("zones: zone lost again: %w", line.ErrStoreUnavailable)
		}
	}
	if errors.Is(err, line.ErrZoneDeleted) {
		r.forget(z)
	}
	return answer, err
}

// share has all callers that want the same thing, which key names, at the same time share one call. A caller whose ctx ends before the
// call does gets an error that wraps line.ErrStoreUnavailable.
func (r *Zones) share(ctx context.Context, s *background.Shared, key string, call func(context.Context) error) error {
	err := s.Do(ctx, &r.background, key, sharedTimeout, call)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("zones: %w: %w", line.ErrStoreUnavailable, err)
	}
	return err
}

// readZone, write and restore are calls to the store, measured.

func (r *Zones) readZone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return measured(r, store.Zone, func() (zone.Settings, error) { return r.store.Zone(ctx, zoneID) })
}

func (r *Zones) write(ctx context.Context, s zone.Settings, was *zone.Settings, by audit.By) (created bool, err error) {
	return measured(r, store.PutZone, func() (bool, error) { return r.store.PutZone(ctx, s, was, by) })
}

func (r *Zones) restore(ctx context.Context, s zone.Settings, m line.Memory) error {
	_, err := measured(r, store.RestoreZone, func() (none, error) { return none{}, r.store.RestoreZone(ctx, s, m) })
	return err
}

// heal puts a zone back of which the store has said that it does not know it. All who want that at the same time share
// one call. before is z.restored as it was before the store was asked.
func (r *Zones) heal(ctx context.Context, z *Zone, before uint64) error {
	return r.share(ctx, &z.shared, "", func(ctx context.Context) error {
		if z.restored.Load() != before {
			return nil // another caller put it back after this one had asked the store
		}
		seen := z.seen.Load()
		present, err := r.put(ctx, z)
		if err != nil {
			return fmt.Errorf("zones: restore zone: %w", err)
		}
		id, m := z.id, z.lost()
		switch {
		case present:
		case !seen:
			r.log.Info("zone created from the configuration", "zone", id, "fresh", r.seedFresh)
			if fault := (event.State{}).ListFault(nil, z.stored.Load().Events, r.now()); fault != "" {
				r.log.Warn("an event of the configuration does not take place", "zone", id, "fault", fault)
			}
		default:
			r.log.Warn("the store had lost a zone: put back from memory", "zone", id,
				"edgeMicros", m.EdgeMicros, "lastArrivalMicros", m.LastArrivalMicros)
			// The store is told who departed before any visitor's poll reaches it. Else it would put
			// departed visitors back. If it cannot be told now, recallAll tells it later.
			if err := r.recallAnew(ctx, z); err != nil {
				r.log.Warn("the store cannot be told yet who had departed", "zone", id, "error", err)
			}
		}
		return nil
	})
}

// present returns the zone's settings as the store has them. A zone that the store lost is put back first.
func (r *Zones) present(ctx context.Context, z *Zone) (is zone.Settings, err error) {
	before, id := z.restored.Load(), z.id
	is, err = r.readZone(ctx, id)
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			is, err = r.readZone(ctx, id)
		}
	}
	return is, err
}

// othersFirst is for how many milliseconds a server that has just begun leaves a zone absent which only its configuration names: the
// store may have lost it, and servers that know it as operators changed it put it back within a second.
const othersFirst = 3_000

var errOthersFirst = fmt.Errorf("zones: another server may put the zone back: %w", line.ErrStoreUnavailable)

// othersFirst reports whether another server may be about to put the zone back, which the store does not know.
func (z *Zone) othersFirst() bool {
	r := z.zones
	if r.seedFresh || r.servers == 1 {
		return false
	}
	now := r.Millis()
	z.absentAt.CompareAndSwap(0, now)
	return now-z.absentAt.Load() < othersFirst
}

// put creates the zone in the store if it is absent. present is true if the store turned out to have the zone; if it is
// false, the store may have had it all the same.
func (r *Zones) put(ctx context.Context, z *Zone) (present bool, err error) {
	s := *z.stored.Load()
	if !z.seen.Load() {
		if z.othersFirst() {
			return false, errOthersFirst
		}
		if s, err = r.withRevoked(ctx, s); err != nil {
			return false, err
		}
	}
	if z.seen.Load() || !r.seedFresh {
		m := z.lost()
		if !z.seen.Load() {
			m.MadeBy = zone.ByConfig
		}
		err = r.restore(ctx, s, m)
	} else {
		// PutZone overwrites settings and revives a deleted zone, so it is called for an unknown zone only.
		var kept zone.Settings
		kept, err = r.readZone(ctx, s.ZoneID)
		switch {
		case err == nil:
			r.remember(kept, false)
			return true, nil
		case errors.Is(err, line.ErrZoneUnknown):
			_, err = r.write(ctx, s, nil, audit.By{Name: zone.ByConfig, Via: audit.ViaFile})
		}
	}
	if err != nil {
		return false, err
	}
	z.restored.Add(1)
	z.seen.Store(true)
	return false, nil
}
