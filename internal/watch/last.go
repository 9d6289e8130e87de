package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Last are the zones as the latest samples were made of, for whoever asks often
// and must not cost the store anything: the gauges. It costs no I/O.
type Last struct{ watch *Watch }

// Last returns the zones as they were last seen.
func (w *Watch) Last() Last { return Last{w} }

// Zones returns the settings of all zones that have been sampled and whose store
// answers, by zone id. It never fails.
func (l Last) Zones(context.Context) ([]zone.Settings, error) {
	l.watch.mu.RLock()
	defer l.watch.mu.RUnlock()
	all := make([]zone.Settings, 0, len(l.watch.zones))
	for _, id := range slices.Sorted(maps.Keys(l.watch.zones)) {
		if t := l.watch.zones[id]; t.answered() {
			all = append(all, t.settings)
		}
	}
	return all, nil
}

// Stats returns what the latest sample of a zone was made of. It returns
// line.ErrStoreUnavailable while the zone's store is failing, or when there is
// no sample yet. The Waits must not be changed.
func (l Last) Stats(_ context.Context, zoneID string) (line.Stats, error) {
	l.watch.mu.RLock()
	defer l.watch.mu.RUnlock()
	t := l.watch.zones[zoneID]
	if t == nil || !t.answered() {
		return line.Stats{}, fmt.Errorf("watch: zone %q: %w", zoneID, line.ErrStoreUnavailable)
	}
	return t.stats, nil
}

// answered reports whether the latest sample has figures.
func (t *track) answered() bool { return t.failingSince == 0 && t.history.len() > 0 }
