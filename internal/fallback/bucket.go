package fallback

import (
	"sort"

	"github.com/openqueue/waitingroom/internal/window"
)

// bucket is what one server may take out for itself while the store is away. It
// is a log of what was taken, like the stores', and not a counter that fills at
// the share's rate: a counter that holds a window's worth can let nearly two
// windows' worth through in one window.
type bucket struct {
	// lost stand for this server's share of what the store admitted before.
	lost window.Phantoms
	// entries are in order of time, at most one a millisecond, none older than
	// a minute: 60,001 of them, or 1 MB, at most.
	entries []entry
	// before counts what was taken before the first of the entries.
	before int64
}

// entry is the last admission of one millisecond, which brought the count of all
// to upTo.
type entry struct{ atMillis, upTo int64 }

// room is how many may be taken now: none while the second is full. r is the server's
// share.
func (b *bucket) room(now int64, r window.Rates) int64 {
	b.trim(now - window.MinuteMillis)
	if b.since(now-window.SecondMillis) >= r.PerSecond {
		return 0
	}
	return r.Room(b.since(now-r.WindowMillis), b.since(now-window.MinuteMillis))
}

// add counts one more. Times must not decrease.
func (b *bucket) add(now int64) {
	n := len(b.entries)
	if n > 0 && b.entries[n-1].atMillis == now {
		b.entries[n-1].upTo++
		return
	}
	b.entries = append(b.entries, entry{now, b.total() + 1})
}

// since counts what was taken at or after t, and what may have been.
func (b *bucket) since(t int64) int64 {
	return b.total() - b.upTo(b.from(t)) + b.lost.Since(t)
}

func (b *bucket) total() int64 { return b.upTo(len(b.entries)) }

// upTo counts what was taken before the i-th entry.
func (b *bucket) upTo(i int) int64 {
	if i == 0 {
		return b.before
	}
	return b.entries[i-1].upTo
}

// from is the index of the first entry at or after t.
func (b *bucket) from(t int64) int {
	return sort.Search(len(b.entries), func(i int) bool { return b.entries[i].atMillis >= t })
}

// trim forgets the entries before t.
func (b *bucket) trim(t int64) {
	n := b.from(t)
	b.before, b.entries = b.upTo(n), b.entries[n:]
}
