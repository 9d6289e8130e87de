package watch

import (
	"iter"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// seen is what a sample is made from.
type seen struct {
	settings zone.Settings
	stats    line.Stats
}

// Last returns what the latest samples were made from, all of one round, ordered by zone id. It does not ask the store, so
// it suits callers that ask often, such as the gauges. A zone whose store is failing is left out. The caller must not
// change the Waits.
func (w *Watch) Last() iter.Seq2[zone.Settings, line.Stats] {
	w.mu.RLock()
	all := make([]seen, 0, len(w.zones))
	for _, id := range slices.Sorted(maps.Keys(w.zones)) {
		if t := w.zones[id]; t.failingSince == 0 && t.history.len() > 0 {
			all = append(all, t.seen)
		}
	}
	w.mu.RUnlock()
	return func(yield func(zone.Settings, line.Stats) bool) {
		for _, s := range all {
			if !yield(s.settings, s.stats) {
				return
			}
		}
	}
}
