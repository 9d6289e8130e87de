package embedded

import (
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
)

// admissions is the log of admissions, in order of time. The zone's clock never
// runs backwards, so this is the order in which they were added.
type admissions struct {
	entries []admission
	// byID is when a visitor was admitted last, in milliseconds.
	byID map[line.ID]int64
}

type admission struct {
	atMillis int64
	id       line.ID
}

func (a *admissions) add(id line.ID, atMillis int64) {
	a.know(id, atMillis)
	a.entries = append(a.entries, admission{atMillis, id})
}

// insert adds an admission of the past, at its place in the order.
func (a *admissions) insert(id line.ID, atMillis int64) {
	a.know(id, atMillis)
	a.entries = slices.Insert(a.entries, int(a.from(atMillis+1)), admission{atMillis, id})
}

func (a *admissions) know(id line.ID, atMillis int64) {
	if a.byID == nil {
		a.byID = make(map[line.ID]int64)
	}
	a.byID[id] = atMillis
}

func (a *admissions) find(id line.ID) (atMillis int64, ok bool) {
	atMillis, ok = a.byID[id]
	return atMillis, ok
}

// from returns the index of the first entry at or after the time.
func (a *admissions) from(millis int64) int64 {
	return int64(sort.Search(len(a.entries), func(i int) bool { return a.entries[i].atMillis >= millis }))
}

// newest returns the time of the latest entry, 0 if there is none.
func (a *admissions) newest() (atMillis int64) {
	if n := len(a.entries); n > 0 {
		atMillis = a.entries[n-1].atMillis
	}
	return atMillis
}

// since counts the entries at or after the time.
func (a *admissions) since(millis int64) int64 {
	return int64(len(a.entries)) - a.from(millis)
}

// trimBatch is how many entries one call of trim forgets at most, which takes well
// under a millisecond: no call's work depends on the length of the log.
const trimBatch = 5000

// trim forgets entries before the time, at most trimBatch, and reports whether
// there are more. Their memory is given back when the log grows or is empty.
func (a *admissions) trim(millis int64) (more bool) {
	old := a.from(millis)
	n := min(old, trimBatch)
	for _, e := range a.entries[:n] {
		if a.byID[e.id] == e.atMillis {
			delete(a.byID, e.id)
		}
	}
	a.entries = a.entries[n:]
	if len(a.entries) == 0 {
		a.entries, a.byID = nil, nil
	}
	return old > n
}
