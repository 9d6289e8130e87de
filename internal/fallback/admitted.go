package fallback

import "github.com/openqueue/waitingroom/internal/line"

// maxAdmitted bounds how many admissions one zone's memory holds: about 25 MB.
// One more pushes the oldest out, whose repeated call would then be a new one.
const maxAdmitted = 1 << 18

// admission is one that this server made while the store was away.
type admission struct {
	place line.Place
	// atMillis and expiresMillis are on the store's clock, as visitors see
	// them; untilMillis is the latter on this server's.
	atMillis, expiresMillis, untilMillis int64
}

// answer is what the visitor is told.
func (a admission) answer(s line.Status) line.Answer {
	return line.Answer{
		Status: s, Place: a.place, Local: true,
		AdmittedAtMillis: a.atMillis, ExpiresAtMillis: a.expiresMillis,
	}
}

// admitted are the admissions whose passes are good. The zero value is empty.
type admitted struct {
	byID map[line.ID]admission
	// order has the ids in the order in which they were added. One may be
	// there twice, if its first pass expired before another's, older one.
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
