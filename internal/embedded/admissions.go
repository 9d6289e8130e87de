package embedded

import (
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// admissions is the log of admissions, in order of time. The zone's clock never
// runs backwards, so this is the order in which they were added.
type admissions struct {
	entries []admission
	// byID is the pass of each visitor's latest admission.
	byID map[line.ID]pass
}

type admission struct {
	atMillis int64
	id       line.ID
}

// pass is when a visitor was admitted and when the pass expires, both in milliseconds. It never changes, whatever the
// zone's settings become.
type pass struct{ atMillis, expiresMillis int64 }

func (a *admissions) add(id line.ID, p pass) {
	a.know(id, p)
	a.entries = append(a.entries, admission{p.atMillis, id})
}

// insert adds an admission of the past, at its place in the order.
func (a *admissions) insert(id line.ID, p pass) {
	a.know(id, p)
	a.entries = slices.Insert(a.entries, int(a.from(p.atMillis+1)), admission{p.atMillis, id})
}

func (a *admissions) know(id line.ID, p pass) {
	if a.byID == nil {
		a.byID = make(map[line.ID]pass)
	}
	a.byID[id] = p
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

// trim forgets the oldest entries up to the first that matters: the limits need the last minute, and a repeated poll
// a pass that is good. It forgets trimBatch at most, and reports whether there may be more. Their memory is given back
// when the log grows or is empty.
func (a *admissions) trim(now int64) (more bool) {
	n := 0
	for ; n < min(len(a.entries), trimBatch); n++ {
		e := a.entries[n]
		its := a.byID[e.id]
		latest := its.atMillis == e.atMillis
		if e.atMillis >= now-window.MinuteMillis || latest && its.expiresMillis > now {
			break
		}
		if latest {
			delete(a.byID, e.id)
		}
	}
	a.entries = a.entries[n:]
	if len(a.entries) == 0 {
		a.entries, a.byID = nil, nil
	}
	return n == trimBatch
}

// withdraw forgets an admission, if it is the visitor's latest. In the limits it still counts if it is not from before
// the time.
func (a *admissions) withdraw(of line.Admission, millis int64) {
	if a.byID[of.ID].atMillis != of.AtMillis {
		return
	}
	delete(a.byID, of.ID)
	for i := a.from(of.AtMillis); of.AtMillis < millis && i < int64(len(a.entries)) && a.entries[i].atMillis == of.AtMillis; i++ {
		if a.entries[i].id == of.ID {
			a.entries = slices.Delete(a.entries, int(i), int(i)+1)
			return
		}
	}
}
