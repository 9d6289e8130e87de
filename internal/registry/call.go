package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Every method here passes a call on to the store, heals a lost zone on the
// way, and returns errors that wrap line.ErrZoneUnknown, line.ErrZoneDeleted
// or line.ErrStoreUnavailable.

// Join takes a place, or finds the one that id or one of the former ids has.
func (r *Registry) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (a line.Answer, err error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	err = r.healing(ctx, z, func() (err error) {
		a, err = r.store.Join(ctx, zoneID, id, former...)
		return err
	})
	if err == nil {
		r.answered(z, a)
	}
	return a, err
}

// Poll records that the visitor is still there, and admits when it is time.
func (r *Registry) Poll(ctx context.Context, zoneID string, p line.Place) (a line.Answer, err error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Answer{}, err
	}
	if _, ended := z.departures.find(p); ended {
		p.DueMillis = 0 // nothing vouches for it, unless its visitor joined anew
	}
	err = r.healing(ctx, z, func() (err error) {
		a, err = r.store.Poll(ctx, zoneID, p)
		return err
	})
	if err == nil {
		r.answered(z, a)
	}
	return a, err
}

// answered takes in what the store said to a visitor.
func (r *Registry) answered(z *remembered, a line.Answer) {
	z.learn(a.State, r.now().Sub(r.began))
	switch a.Status {
	case line.Admitted, line.AdmittedBefore:
		r.departed(z, a.Place, a.AdmittedAtMillis)
	case line.Waiting:
		z.departures.stands(a.Place)
	default: // nobody is there
	}
}

// Leave gives a place up. It is no error when the place is gone already; that is not
// remembered once more, lest who repeats it pushes out what others did.
func (r *Registry) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return err
	}
	err = r.healing(ctx, z, func() error { return r.store.Leave(ctx, zoneID, p) })
	if _, ended := z.departures.find(p); err == nil && !ended {
		r.departed(z, p, 0)
	}
	return err
}

// Stats returns what operators see of the zone, from the store.
func (r *Registry) Stats(ctx context.Context, zoneID string) (s line.Stats, err error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	err = r.healing(ctx, z, func() (err error) {
		s, err = r.store.Stats(ctx, zoneID)
		return err
	})
	if err == nil {
		z.learn(s.State, r.now().Sub(r.began))
	}
	return s, err
}

// Sweep removes one batch of idle visitors; cursor is 0 at first, then the
// Next of the batch before.
func (r *Registry) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (s line.Sweep, err error) {
	z, err := r.find(ctx, zoneID)
	if err != nil {
		return line.Sweep{}, err
	}
	err = r.healing(ctx, z, func() (err error) {
		s, err = r.store.Sweep(ctx, zoneID, owner, cursor)
		return err
	})
	return s, err
}

// healing makes a call to the store for a zone that is remembered. When the
// store does not know the zone, it is put back and the call made once more.
func (r *Registry) healing(ctx context.Context, z *remembered, call func() error) error {
	if b := z.brake.Load(); b != nil && b.holds(r.now()) {
		// The store would go by the settings of before the brake.
		return fmt.Errorf("registry: a change is not in the store yet: %w", line.ErrStoreUnavailable)
	}
	before := z.heals.Load()
	err := call()
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			err = call()
		}
		if errors.Is(err, line.ErrZoneUnknown) {
			// Lost twice in a moment. It is remembered, so "unknown" would be
			// wrong, and would have visitors throw their places away.
			err = fmt.Errorf("registry: zone lost again: %w", line.ErrStoreUnavailable)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, line.ErrZoneDeleted):
		r.forget(z)
	}
	return err
}

// heal puts the zone back where the store does not have it, one caller for all
// who want that now. before is z.heals as it was before the store was asked.
// The store has said that it does not know the zone.
func (r *Registry) heal(ctx context.Context, z *remembered, before uint64) error {
	return z.healing.do(ctx, func(ctx context.Context) error {
		if z.heals.Load() != before {
			return nil // somebody did, after this caller had asked
		}
		seen := z.seen.Load()
		present, err := r.put(ctx, z)
		if err != nil {
			return fmt.Errorf("registry: restore zone: %w", err)
		}
		id, m := z.settings.Load().ZoneID, z.memory()
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
	before, id := z.heals.Load(), z.settings.Load().ZoneID
	is, err = r.store.Zone(ctx, id)
	if errors.Is(err, line.ErrZoneUnknown) {
		if err = r.heal(ctx, z, before); err == nil {
			is, err = r.store.Zone(ctx, id)
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
		err = r.store.RestoreZone(ctx, s, m)
	} else {
		// PutZone would overwrite and undelete; only an unknown zone may begin.
		var kept zone.Settings
		kept, err = r.store.Zone(ctx, s.ZoneID)
		switch {
		case err == nil:
			r.remember(kept, false)
			return true, nil
		case errors.Is(err, line.ErrZoneUnknown):
			_, err = r.store.PutZone(ctx, s, nil, zone.ByConfig)
		}
	}
	if err != nil {
		return false, err
	}
	z.heals.Add(1)
	z.seen.Store(true)
	return false, nil
}
