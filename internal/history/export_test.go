package history

import (
	"iter"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Rows are what the recorder of a server named by keeps of a zone that it sees so, with what it has refused by then.
func Rows(by string, settings zone.Settings, looks iter.Seq2[line.Stats, map[string]int64]) (all []store.Minute) {
	z := &recorded{refused: make(map[string]int64)}
	for stats, refused := range looks {
		z.see(settings, stats, func() map[string]int64 { return refused }, by)
		all, z.pending = append(all, z.pending...), nil
	}
	return all
}
