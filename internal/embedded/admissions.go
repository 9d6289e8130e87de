package embedded

import (
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
)

// admissions is the log of those let in: in order of time, which on the zone's
// clock is the order of arrival in the log.
type admissions struct {
	entries []admission
	// byID finds the last admission of a visitor.
	byID map[line.ID]int64
}

type admission struct {
	atMillis int64
	id       line.ID
}

func (a *admissions) add(id line.ID, atMillis int64) {
	if a.byID == nil {
		a.byID = make(map[line.ID]int64)
	}
	a.entries = append(a.entries, admission{atMillis, id})
	a.byID[id] = atMillis
}

func (a *admissions) find(id line.ID) (atMillis int64, ok bool) {
	atMillis, ok = a.byID[id]
	return atMillis, ok
}

// from is the index of the first entry at or after the time.
func (a *admissions) from(millis int64) int64 {
	return int64(sort.Search(len(a.entries), func(i int) bool { return a.entries[i].atMillis >= millis }))
}

// since counts the entries at or after the time.
func (a *admissions) since(millis int64) int64 {
	return int64(len(a.entries)) - a.from(millis)
}

// trim forgets the entries before the time. It copies what stays, so that the
// memory of a rush is given back when the rush is over.
func (a *admissions) trim(millis int64) {
	n := a.from(millis)
	if n == 0 {
		return
	}
	for _, e := range a.entries[:n] {
		if a.byID[e.id] == e.atMillis {
			delete(a.byID, e.id)
		}
	}
	a.entries = append([]admission(nil), a.entries[n:]...)
	if len(a.entries) == 0 {
		a.entries, a.byID = nil, nil
	}
}
