package fallback

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/window"
)

// bucket counts what one server admits by itself while the store is away. It is a log of admissions, like that of the
// stores, and not a counter that fills at the share's rate: a counter that holds a window's worth can let nearly two
// windows' worth through in one window.
type bucket struct {
	// lost stands for this server's share of what the store admitted before.
	lost window.Phantoms
	// times are when this server admitted the visitors of the last minute, in milliseconds, in order: 5 MB at 600,000 a
	// minute.
	times []int64
}

// room returns how many this server may admit now: 0 while the second is full. r is the server's share.
func (b *bucket) room(now int64, r window.Rates) int64 {
	if b.since(now-window.SecondMillis) >= r.PerSecond {
		return 0
	}
	return r.Room(b.since(now-r.WindowMillis), b.since(now-window.MinuteMillis))
}

// add counts one more admission, and forgets those that are older than a minute. Times must not decrease.
func (b *bucket) add(now int64) {
	b.times = append(b.times[b.before(now-window.MinuteMillis):], now)
}

// since counts the admissions at or after t, including those that the store may have made.
func (b *bucket) since(t int64) int64 {
	return int64(len(b.times)-b.before(t)) + b.lost.Since(t)
}

// before counts the times before t.
func (b *bucket) before(t int64) int {
	n, _ := slices.BinarySearch(b.times, t)
	return n
}
