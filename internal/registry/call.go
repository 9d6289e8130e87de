package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Every method here passes a call on to the store, heals a lost zone on the
// way, and returns errors that wrap line.ErrZoneUnknown, line.ErrZoneDeleted
// or line.ErrStoreUnavailable.

// Join implements store.Visitors.
func (r *Registry) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	if err := r.confirm(ctx, z); err != nil {
		return line.Answer{}, err
	}
	var score int64
	a, err := r.drawn(ctx, z, store.Join, func() (line.Answer, error) {
		if score = z.scoreNow(id); score > 0 {
			return r.store.JoinDrawn(ctx, zoneID, score, id, former...)
		}
		return r.store.Join(ctx, zoneID, id, former...)
	})
	if err == nil {
		z.tell(&a, score)
		r.answered(z, a)
	}
	return a, err
}

// confirm returns nil for a zone that the store was seen to hold. Who asks to join another went by what the configuration
// says, which may be nothing of the invitation of an event that is under way; it reads the zone, and where that is
// another, the caller has to ask again.
func (r *Registry) confirm(ctx context.Context, z *remembered) error {
	if z.seen.Load() {
		return nil
	}
	was := *z.settings.Load()
	is, err := r.present(ctx, z)
	if errors.Is(err, line.ErrZoneDeleted) {
		r.forget(z)
	}
	if err != nil {
		return err
	}
	if r.remember(is, false); !was.Equal(is) {
		return fmt.Errorf("registry: the zone is another than the configuration says: %w", line.ErrStoreUnavailable)
	}
	return nil
}

// Poll implements store.Visitors.
func (r *Registry) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	if _, ended := z.departures.find(p); ended {
		p.DueMillis = 0 // nothing vouches for it, unless its visitor joined anew
	}
	a, err := r.drawn(ctx, z, store.Poll, func() (line.Answer, error) { return r.store.Poll(ctx, zoneID, z.placed(p)) })
	if err == nil {
		z.tell(&a, 0)
		r.answered(z, a)
		z.letIn(&a, p)
	}
	return a, err
}

// answered takes in what the store said to a visitor.
func (r *Registry) answered(z *remembered, a line.Answer) {
	if z.judge.looksAt(a.Place.ID) {
		z.judge.hear(&a)
	}
	if a.Restored {
		r.meter.Restored(z.id)
	}
	if z.before.Load() != nil && !a.Remembered {
		z.before.Store(nil)
	}
	if !a.Remembered {
		z.learn(a.State, r.now().Sub(r.began))
	}
	switch a.Status {
	case line.Admitted, line.AdmittedBefore:
		r.departed(z, a)
	case line.Waiting:
		// A store that lost data may have put back who departed, until it is told.
		if z.toldAll() {
			z.departures.stands(a.Place)
		}
	default: // nobody is there
	}
}

// Leave implements store.Visitors. A place that is gone already is not remembered once more,
// lest who repeats it pushes out what others did.
func (r *Registry) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return err
	}
	_, err = ask(ctx, r, z, store.Leave, func() (none, error) { return none{}, r.store.Leave(ctx, zoneID, p) })
	if _, ended := z.departures.find(p); err == nil && !ended {
		r.departed(z, line.Answer{Place: p})
	}
	return err
}

// Stats implements store.Viewer.
func (r *Registry) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	var began time.Time
	s, err := ask(ctx, r, z, store.Stats, func() (line.Stats, error) {
		began = r.now()
		return r.store.Stats(ctx, zoneID)
	})
	if err == nil {
		if told, ok := z.table.Load().Joining(&s.State); ok {
			s.EstimateMillis, s.LowMillis, s.HighMillis = told.EstimateMillis, told.LowMillis, told.HighMillis
		}
		now := r.now()
		z.learn(s.State, now.Sub(r.began))
		// The store said it in between, as far as is known half-way.
		half := began.Add(now.Sub(began) / 2)
		r.meter.ClockAhead(zoneID, time.UnixMilli(s.State.NowMillis).Sub(half))
	}
	return s, err
}

// Sweep implements store.Sweeper.
func (r *Registry) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Sweep{}, err
	}
	return ask(ctx, r, z, store.Sweep, func() (line.Sweep, error) { return r.store.Sweep(ctx, zoneID, owner, cursor) })
}

// HoldSweeps implements store.Sweeper.
func (r *Registry) HoldSweeps(ctx context.Context, zoneID, owner string, span time.Duration) error {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return err
	}
	_, err = ask(ctx, r, z, store.Sweep, func() (none, error) { return none{}, r.store.HoldSweeps(ctx, zoneID, owner, span) })
	return err
}

// Ping asks whether the store is there: see store.Store.
func (r *Registry) Ping(ctx context.Context) error {
	_, err := measured(r, store.Ping, func() (none, error) { return none{}, r.store.Ping(ctx) })
	return err
}

// none is the answer of a call that has none.
type none struct{}

// measured makes one call to the store, and has the meter take its time.
func measured[T any](r *Registry, call store.Call, do func() (T, error)) (T, error) {
	began := r.now()
	answer, err := do()
	r.meter.Called(call, r.now().Sub(began), err)
	return answer, err
}

// ask makes a call to the store for a zone that is remembered. When the
// store does not know the zone, it is put back and the call made once more.
func ask[T any](ctx context.Context, r *Registry, z *remembered, call store.Call, do func() (T, error)) (T, error) {
	if b := z.brake.Load(); b != nil && b.holds(r.now()) {
		// The store would go by the settings of before the brake.
		var nothing T
		return nothing, fmt.Errorf("registry: a change is not in the store yet: %w", line.ErrStoreUnavailable)
	}
	before := z.heals.Load()
	answer, err := measured(r, call, do)
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			answer, err = measured(r, call, do)
		}
		if errors.Is(err, line.ErrZoneUnknown) {
			// Lost twice in a moment. It is remembered, so "unknown" would be
			// wrong, and would have visitors throw their places away.
			err = fmt.Errorf("registry: zone lost again: %w", line.ErrStoreUnavailable)
		}
	}
	if errors.Is(err, line.ErrZoneDeleted) {
		r.forget(z)
	}
	return answer, err
}

// share has all who want the same at the same time share one call. Whoever gives up
// meanwhile gets an error that wraps line.ErrStoreUnavailable.
func (r *Registry) share(ctx context.Context, s *background.Shared, call func(context.Context) error) error {
	err := s.Do(ctx, &r.background, "", sharedTimeout, call)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("registry: %w: %w", line.ErrStoreUnavailable, err)
	}
	return err
}

// readZone, write and restore are calls to the store, measured.

func (r *Registry) readZone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return measured(r, store.Zone, func() (zone.Settings, error) { return r.store.Zone(ctx, zoneID) })
}

func (r *Registry) write(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (created bool, err error) {
	return measured(r, store.PutZone, func() (bool, error) { return r.store.PutZone(ctx, s, was, by) })
}

func (r *Registry) restore(ctx context.Context, s zone.Settings, m line.Memory) error {
	_, err := measured(r, store.RestoreZone, func() (none, error) { return none{}, r.store.RestoreZone(ctx, s, m) })
	return err
}

// heal puts the zone back where the store does not have it, one caller for all
// who want that now. before is z.heals as it was before the store was asked.
// The store has said that it does not know the zone.
func (r *Registry) heal(ctx context.Context, z *remembered, before uint64) error {
	return r.share(ctx, &z.healing, func(ctx context.Context) error {
		if z.heals.Load() != before {
			return nil // somebody did, after this caller had asked
		}
		seen := z.seen.Load()
		present, err := r.put(ctx, z)
		if err != nil {
			return fmt.Errorf("registry: restore zone: %w", err)
		}
		id, m := z.id, z.memory()
		switch {
		case present:
		case !seen:
			r.log.Info("zone created from the configuration", "zone", id, "fresh", r.seedFresh)
		default:
			r.log.Warn("the store had lost a zone: put back from memory", "zone", id,
				"edgeMicros", m.EdgeMicros, "lastArrivalMicros", m.LastArrivalMicros)
			// Before anybody's poll, so that of those whom this server saw depart none
			// is put back. What cannot be told now is told by tellAll.
			z.told.Store(untold)
			if err := r.tell(ctx, z); err != nil {
				r.log.Warn("the store cannot be told yet who had departed", "zone", id, "error", err)
			}
		}
		return nil
	})
}

// present returns the zone's settings in the store, into which it is put back if it was
// lost.
func (r *Registry) present(ctx context.Context, z *remembered) (is zone.Settings, err error) {
	before, id := z.heals.Load(), z.id
	is, err = r.readZone(ctx, id)
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			is, err = r.readZone(ctx, id)
		}
	}
	return is, err
}

// put creates the zone in the store where it is absent. present: the store is
// known to have had it; without that, it may have.
func (r *Registry) put(ctx context.Context, z *remembered) (present bool, err error) {
	s := *z.stored.Load()
	if z.seen.Load() || !r.seedFresh {
		m := z.memory()
		if !z.seen.Load() {
			m.MadeBy = zone.ByConfig
		}
		err = r.restore(ctx, s, m)
	} else {
		// PutZone would overwrite and undelete; only an unknown zone may begin.
		var kept zone.Settings
		kept, err = r.readZone(ctx, s.ZoneID)
		switch {
		case err == nil:
			r.remember(kept, false)
			return true, nil
		case errors.Is(err, line.ErrZoneUnknown):
			_, err = r.write(ctx, s, nil, zone.ByConfig)
		}
	}
	if err != nil {
		return false, err
	}
	z.heals.Add(1)
	z.seen.Store(true)
	return false, nil
}
