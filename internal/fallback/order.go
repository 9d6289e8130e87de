package fallback

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// maxAskers is how many token holders are remembered of one zone: about 25 MB. Further ones are answered all the
	// same, but not counted.
	maxAskers = 1 << 18
	// lookMillis is how often the reach is computed anew. That takes 3 ms with maxAskers (BenchmarkLook).
	lookMillis = 250
	// backMillis is how long after a refusal a visitor whose turn is near asks again, at the latest: the answer says
	// to wait for 1 to 3 s, and the client's timer and the network take some more.
	backMillis = 5_000
	// idlePart: one idlePart-th of the share may lie idle while the earliest are waited for. TestOrderInAnOutage with
	// one or two servers: with 12, 91 to 94 % of capacity is used and 1 of 100 visitors is overtaken by more than 1.2
	// to 1.6 windows' worth; with 24 it is 94 to 97 %, and 1.8 to 2.0.
	idlePart = 12
)

// askers are the token holders who were refused since this server's calls began to fail, and who may still be there.
// From them the reach is computed. The zero value is empty.
type askers struct {
	// since is when the calls began to fail.
	since int64
	all   []asker
	// index finds each of them in all.
	index map[line.ID]int
	// reach is the arrival, in microseconds, up to which token holders may enter. wide is how many askers the reach
	// covers. looked is when both were computed.
	reach, wide, looked int64
	scratch             []int64
}

// asker is one token holder who was refused, and when that was last.
type asker struct {
	id            line.ID
	arrivedMicros int64
	atMillis      int64
}

// hear notes that a token holder asked and was refused.
func (a *askers) hear(p line.Place, now int64) {
	if i, ok := a.index[p.ID]; ok {
		a.all[i] = asker{p.ID, p.ArrivedAtMicros, now}
		return
	}
	if len(a.all) == maxAskers {
		return
	}
	if a.index == nil {
		a.index = make(map[line.ID]int)
	}
	a.index[p.ID] = len(a.all)
	a.all = append(a.all, asker{p.ID, p.ArrivedAtMicros, now})
}

// enter notes that a token holder was let in.
func (a *askers) enter(p line.Place) {
	if i, ok := a.index[p.ID]; ok {
		a.remove(i)
	}
}

// remove forgets the i-th asker. The last one takes its place.
func (a *askers) remove(i int) {
	last := len(a.all) - 1
	delete(a.index, a.all[i].id)
	if i < last {
		a.all[i] = a.all[last]
		a.index[a.all[i].id] = i
	}
	a.all = a.all[:last]
}

// within reports whether a token holder with that arrival may enter if there is room. Until window.FreezeMillis after
// the first failure, only the released may: up to the edge when the store was last heard. After that the earliest of
// those who are there may, too. room is how many may enter now, and share is this server's share.
func (a *askers) within(arrivedMicros, edgeMicros, now, room int64, share window.Rates, servers int64) bool {
	if now-a.since < window.FreezeMillis {
		return arrivedMicros <= edgeMicros
	}
	if now-a.looked >= lookMillis {
		// A visitor's calls are spread over all servers. The more servers there are, the later one comes back here.
		a.look(now-min(backMillis*servers, window.FreezeMillis), room, share)
		a.looked = now
	}
	return arrivedMicros <= max(edgeMicros, a.reach)
}

// look forgets the askers who have not asked since from, and computes the reach. The reach widens while room is left:
// some of the earliest may have left, or entered at another server. It narrows while there is no room, so that few race
// for a slot.
func (a *askers) look(from, room int64, share window.Rates) {
	a.scratch = a.scratch[:0]
	for i, one := range slices.Backward(a.all) {
		if one.atMillis < from {
			a.remove(i)
			continue
		}
		a.scratch = append(a.scratch, one.arrivedMicros)
	}
	if room*idlePart > share.Limit {
		a.wide += max(1, a.wide/8)
	} else {
		a.wide -= max(1, a.wide/16)
	}
	a.wide = min(max(a.wide, room, share.Limit/4, 1), int64(len(a.scratch)))
	a.reach = 0
	if a.wide > 0 {
		a.reach = smallest(a.scratch, int(a.wide))
	}
}

// smallest returns the n-th smallest of all numbers, 1 for the least, and reorders them. The time is linear in how many
// there are (quickselect).
func smallest(all []int64, n int) int64 {
	for lo, hi := 0, len(all)-1; lo < hi; {
		pivot := all[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for all[i] < pivot {
				i++
			}
			for all[j] > pivot {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return all[n-1]
		}
	}
	return all[n-1]
}
