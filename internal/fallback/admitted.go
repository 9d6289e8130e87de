package fallback

import "github.com/openqueue/waitingroom/internal/line"

// maxAdmitted is how many admissions are remembered of one zone: about 25 MB. A further one pushes the oldest out. A
// repeated call of that visitor then counts as a new one.
const maxAdmitted = 1 << 18

// admission is an admission that this server made while the store was away.
type admission struct {
	place line.Place
	// atMillis and expiresMillis are on the store's clock, as visitors see them. untilMillis is expiresMillis on this
	// server's clock.
	atMillis, expiresMillis, untilMillis int64
}

// answer returns what the visitor is told.
func (a admission) answer(s line.Status) line.Answer {
	return line.Answer{
		Status: s, Place: a.place, Local: true,
		AdmittedAtMillis: a.atMillis, ExpiresAtMillis: a.expiresMillis,
	}
}

// admitted are the admissions whose passes are good. The zero value is empty.
type admitted struct {
	byID map[line.ID]admission
	// order has the ids in the order in which they were added. An id is in it twice if its visitor was admitted again
	// while an older admission of another visitor was still at the head of order.
	order []line.ID
}

// find returns the visitor's admission, under any of its ids.
func (a *admitted) find(v visitor, now int64) (admission, bool) {
	if found, ok := a.byID[v.place.ID]; ok && found.untilMillis > now {
		return found, true
	}
	for _, id := range v.former {
		if found, ok := a.byID[id]; ok && found.untilMillis > now {
			return found, true
		}
	}
	return admission{}, false
}

func (a *admitted) add(one admission) {
	if a.byID == nil {
		a.byID = make(map[line.ID]admission)
	}
	if len(a.order) >= maxAdmitted {
		a.dropOldest()
	}
	a.byID[one.place.ID] = one
	a.order = append(a.order, one.place.ID)
}

// prune forgets passes that have expired, and reports whether none is left.
func (a *admitted) prune(now int64) (empty bool) {
	for len(a.order) > 0 && a.byID[a.order[0]].untilMillis <= now {
		a.dropOldest()
	}
	if len(a.order) == 0 {
		*a = admitted{}
	}
	return len(a.order) == 0
}

func (a *admitted) dropOldest() {
	delete(a.byID, a.order[0])
	a.order = a.order[1:]
}
