package limit

import (
	"math/bits"
	"sort"
)

// slidingLog keeps when each permit was taken, for one window.
type slidingLog struct{}

func (slidingLog) maxLimit() int64      { return MaxLogLimit }
func (slidingLog) burst() bool          { return false }
func (slidingLog) permits(r Rule) int64 { return min(r.Limit, MaxLogCost) }

func (slidingLog) fitted(r Rule, _, atOnce func(int64) int64) Rule {
	r.Limit = min(atOnce(r.Limit), MaxLogLimit)
	return r
}

func (slidingLog) advance(r Rule, s State, now int64) view {
	if s.log == nil {
		return view{moment: now}
	}
	v, w := view{log: *s.log, at: s.at}, r.millis()
	if v.at-now > w {
		v.at, v.mended = now, true
		v.log.fill(now)
	}
	v.moment = max(now, v.at)
	v.log.drop(v.at, v.at-v.moment+w)
	return v
}

func (slidingLog) short(r Rule, v view, cost int64) int64 {
	if over := int64(v.log.permits) + cost - r.Limit; over > 0 {
		return v.at - v.log.age(v.at, uint32(over-1)) + r.millis() - v.moment
	}
	return 0
}

func (slidingLog) take(_ Rule, v view, _, cost int64) (after view, delay int64) {
	v.log.push(v.moment, uint32(cost))
	v.at = v.moment
	return v, 0
}

func (slidingLog) left(r Rule, v view) (remaining, reset int64) {
	if v.log.permits > 0 {
		reset = v.at + r.millis() - v.moment
	}
	return r.Limit - int64(v.log.permits), reset
}

// ring is a log: when permits were taken, the oldest first. Of each time it keeps the low 32
// bits, in milliseconds, which wrap after 49 days. That is enough to tell how much older than
// the newest a permit is, since the log reaches back at most a day.
type ring struct {
	marks   []uint32 // its length is a power of two, or 0
	first   uint32   // the index of the oldest
	permits uint32
}

// minRing is the least number of permits that a ring has room for.
const minRing = 4

func (l *ring) slot(i uint32) *uint32 { return &l.marks[(l.first+i)&uint32(len(l.marks)-1)] }

// age is how much older than the newest the i-th permit is, counted from 0, in milliseconds.
func (l *ring) age(newest int64, i uint32) int64 { return int64(uint32(newest) - *l.slot(i)) }

// drop forgets the permits that are older than the newest by age or more, in milliseconds. It
// leaves their marks as they are.
func (l *ring) drop(newest, age int64) {
	n := sort.Search(int(l.permits), func(i int) bool { return l.age(newest, uint32(i)) < age })
	l.first, l.permits = l.first+uint32(n), l.permits-uint32(n)
}

// fill sets the time of all permits to newest.
func (l *ring) fill(newest int64) {
	for i := range l.permits {
		*l.slot(i) = uint32(newest)
	}
}

// push adds n permits that were taken at the time. The marks double when they are full, and
// shrink when at most one in four is in use.
func (l *ring) push(at int64, n uint32) {
	if want := l.permits + n; int(want) > len(l.marks) || 4*int(want) <= len(l.marks) && len(l.marks) > minRing {
		l.resize(max(minRing, 1<<bits.Len32(want-1)))
	}
	for range n {
		*l.slot(l.permits) = uint32(at)
		l.permits++
	}
}

func (l *ring) resize(size int) {
	marks := make([]uint32, size)
	for i := range l.permits {
		marks[i] = *l.slot(i)
	}
	l.marks, l.first = marks, 0
}
