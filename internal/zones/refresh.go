package zones

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// freshen returns nil if the list of zones is fresh, or was read now.
func (r *Zones) freshen(ctx context.Context) error {
	now := r.now()
	r.mu.Lock()
	fresh := !r.listedAt.IsZero() && now.Sub(r.listedAt) < freshFor
	justTried := !r.triedAt.IsZero() && now.Sub(r.triedAt) < minGap
	err := r.listErr
	r.mu.Unlock()
	switch {
	case fresh:
		return nil
	case justTried:
		return err
	}
	return r.read(ctx)
}

// reread reads the zones, unless that went well the time before.
func (r *Zones) reread(ctx context.Context) {
	r.mu.Lock()
	well := r.listErr == nil && r.now().Sub(r.listedAt) < interval*3/2
	r.mu.Unlock()
	if !well {
		r.readAndLog(ctx)
	}
}

// readAndLog is read for callers that have no use for the error, which read logs.
func (r *Zones) readAndLog(ctx context.Context) { _ = r.read(ctx) }

// read takes in the store's zones, or shares the reading that is under way. It logs the first of several failures, and
// the first success after them.
func (r *Zones) read(ctx context.Context) error {
	return r.share(ctx, &r.reading, "", func(ctx context.Context) error {
		began := r.now()
		err := r.readOnce(ctx)

		r.mu.Lock()
		failedBefore := r.listErr != nil
		r.triedAt, r.listErr = r.now(), err
		if err == nil {
			r.listedAt = began
		}
		r.mu.Unlock()

		switch {
		case err != nil && !failedBefore:
			r.log.Warn("zones cannot be read from the store; going on with what is remembered", "error", err)
		case err == nil && failedBefore:
			r.log.Info("zones can be read from the store again")
		}
		return err
	})
}

// readOnce reads the list, adopts what is new or changed, and looks into the
// zones that are remembered but not listed.
func (r *Zones) readOnce(ctx context.Context) error {
	r.mu.Lock()
	clear(r.touched)
	r.mu.Unlock()

	list, err := measured(r, store.Zones, func() ([]zone.Settings, error) { return r.store.Zones(ctx) })
	r.mu.Lock()
	r.adopt(list)
	var missing []*Zone
	if err == nil {
		// Only a list that was read completely shows that a zone is absent.
		missing = r.notIn(list)
	}
	r.mu.Unlock()
	for _, z := range missing {
		r.lookInto(ctx, z)
	}
	for _, z := range *r.zones.Load() {
		r.sendLost(ctx, z)
	}
	return err
}

// adopt takes in a list of zones, except those that this server put or deleted while the list was being read. The
// caller holds mu.
func (r *Zones) adopt(list []zone.Settings) {
	var news []zone.Settings
	for _, s := range list {
		if _, newer := r.touched[s.ZoneID]; newer {
			continue
		}
		z := r.Known(s.ZoneID)
		if z == nil {
			news = append(news, s)
			continue
		}
		if !z.seen.Load() && !z.settings.Load().Equal(s) {
			r.log.Info("zone exists already: the configuration's settings are not applied", "zone", s.ZoneID)
		}
		z.set(s)
	}
	r.add(news...)
}

// notIn returns the remembered zones that are not in the list, ordered by id. It leaves out zones that this server put
// or deleted while the list was being read. The caller holds mu.
func (r *Zones) notIn(list []zone.Settings) []*Zone {
	listed := make(map[string]struct{}, len(list))
	for _, s := range list {
		listed[s.ZoneID] = struct{}{}
	}
	var missing []*Zone
	zones := *r.zones.Load()
	for _, id := range slices.Sorted(maps.Keys(zones)) {
		_, present := listed[id]
		_, newer := r.touched[id]
		if !present && !newer {
			missing = append(missing, zones[id])
		}
	}
	return missing
}

// lookInto finds out why a remembered zone is not in the store's list. An operator deleted the zone: it is forgotten.
// Or the store lost the zone, or lost the list: what was lost is put back. If the store does not answer, the next
// reading of the list tries again.
func (r *Zones) lookInto(ctx context.Context, z *Zone) {
	before := z.restored.Load()
	id := z.id
	present, err := r.readZone(ctx, id)
	switch {
	case err == nil:
		r.remember(present, false)
		// The store has the zone, but lost the list: with Redis Cluster they may lie on different nodes. Restoring a
		// zone that is there writes the list. Without it, a server that starts would not know the zone.
		err = r.restore(ctx, present, z.lost())
	case errors.Is(err, line.ErrZoneUnknown):
		err = r.heal(ctx, z, before)
	}
	switch {
	case errors.Is(err, line.ErrZoneDeleted):
		r.log.Info("zone was deleted", "zone", id)
		r.forget(z)
	case err != nil && !errors.Is(err, errOthersFirst) && !z.unhealed.Swap(true):
		r.log.Warn("a zone that the store does not list cannot be put back yet", "zone", id, "error", err)
	case err == nil:
		z.unhealed.Store(false)
	}
}
