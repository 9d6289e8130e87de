package fallback

import (
	"sort"

	"github.com/openqueue/waitingroom/internal/window"
)

// bucket counts what one server admits by itself while the store is away. It is a log of admissions, like that of the
// stores, and not a counter that fills at the share's rate: a counter that holds a window's worth can let nearly two
// windows' worth through in one window.
type bucket struct {
	// lost stands for this server's share of what the store admitted before.
	lost window.Phantoms
	// entries are in order of time, at most one a millisecond, and none is older than a minute: at most 60,001 of
	// them, or 1 MB.
	entries []entry
	// before counts the admissions before the first of the entries.
	before int64
}

// entry is the last admission of one millisecond. upTo counts all admissions up to and including it.
type entry struct{ atMillis, upTo int64 }

// room returns how many this server may admit now: 0 while the second is full. r is the server's share.
func (b *bucket) room(now int64, r window.Rates) int64 {
	b.trim(now - window.MinuteMillis)
	if b.since(now-window.SecondMillis) >= r.PerSecond {
		return 0
	}
	return r.Room(b.since(now-r.WindowMillis), b.since(now-window.MinuteMillis))
}

// add counts one more admission. Times must not decrease.
func (b *bucket) add(now int64) {
	n := len(b.entries)
	if n > 0 && b.entries[n-1].atMillis == now {
		b.entries[n-1].upTo++
		return
	}
	b.entries = append(b.entries, entry{now, b.total() + 1})
}

// since counts the admissions at or after t, including those that the store may have made.
func (b *bucket) since(t int64) int64 {
	return b.total() - b.upTo(b.from(t)) + b.lost.Since(t)
}

func (b *bucket) total() int64 { return b.upTo(len(b.entries)) }

// upTo counts the admissions of the first i entries, and those before them.
func (b *bucket) upTo(i int) int64 {
	if i == 0 {
		return b.before
	}
	return b.entries[i-1].upTo
}

// from returns the index of the first entry at or after t.
func (b *bucket) from(t int64) int {
	return sort.Search(len(b.entries), func(i int) bool { return b.entries[i].atMillis >= t })
}

// trim forgets the entries before t.
func (b *bucket) trim(t int64) {
	n := b.from(t)
	b.before, b.entries = b.upTo(n), b.entries[n:]
}
