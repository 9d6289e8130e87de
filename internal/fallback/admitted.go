package fallback

import "github.com/openqueue/waitingroom/internal/line"

// maxAdmitted is how many admissions are remembered of one zone: about 27 MB. A further one pushes the oldest out. A
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
	// order has the admissions in the order in which they were made. A visitor who was admitted twice is in it twice,
	// and in byID with the later admission.
	order []ending
}

// ending is whose admission ends, and when, on this server's clock.
type ending struct {
	id          line.ID
	untilMillis int64
}

// find returns the visitor's admission, under any of its ids.
func (a *admitted) find(v visitor, now int64) (admission, bool) {
	for _, id := range v.ids() {
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
	a.order = append(a.order, ending{one.place.ID, one.untilMillis})
}

// prune forgets passes that have expired, and reports whether none is left.
func (a *admitted) prune(now int64) (empty bool) {
	for len(a.order) > 0 && a.order[0].untilMillis <= now {
		a.dropOldest()
	}
	if len(a.order) == 0 {
		*a = admitted{}
	}
	return len(a.order) == 0
}

func (a *admitted) dropOldest() {
	oldest := a.order[0]
	a.order = a.order[1:]
	if a.byID[oldest.id].untilMillis == oldest.untilMillis {
		delete(a.byID, oldest.id)
	}
}
