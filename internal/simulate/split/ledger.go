package split

import (
	"cmp"
	"slices"

	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// validity is how long a lease lasts for the ledger, in milliseconds: ten
	// rounds of messages, and the longest that the death of a part keeps its
	// share idle before others get it.
	validity = 1000
	// minute is the span of the second limit.
	minute = window.MinuteMillis
)

// report is what a part tells the ledger.
type report struct {
	part int
	// life tells the part's lives apart. No two have the same.
	life int64
	// accepted is the number of the offer that holds, 0 for none; used is how
	// many the part has admitted in this life.
	accepted, used int64
	// queue is what the order between parts is kept by.
	queue queue
	// clock is the part's time. The ledger does not look at it: it comes back
	// with the offer, and the end of the lease is counted from it.
	clock int64
}

// offer is what the ledger lends: the part may admit until it has used the
// allowance. A later number replaces an earlier one.
type offer struct{ life, number, allowance int64 }

// lent is what the ledger knows of one part.
type lent struct {
	life, number int64
	// recorded is how many admissions of the life are on record.
	recorded int64
	// offers may hold: the one that the part named last, and all after it.
	offers []offer
	// ends is when the last of them has ended for the part.
	ends int64
	// ended: it has, and what it left open is on record as used.
	ended bool
	queue queue
}

// open is how many the part may still admit that are not on record.
func (p *lent) open() int64 {
	most := p.recorded
	for _, o := range p.offers {
		most = max(most, o.allowance)
	}
	return most - p.recorded
}

// orphan is what a part's other life may still use.
type orphan struct{ n, ends int64 }

// entry of the log: how many were on record at that time, since the beginning.
type entry struct{ at, total int64 }

// ledger decides how much each part may admit. Its times are milliseconds on
// its own clock.
type ledger struct {
	rates   window.Rates
	log     []entry
	parts   []lent
	orphans []orphan
	lost    window.Phantoms
}

func newLedger(r window.Rates, parts int) *ledger {
	return &ledger{rates: r, parts: make([]lent, parts)}
}

// exchange takes in a report and returns what the part may do.
func (l *ledger) exchange(now int64, r report) offer {
	l.endLeases(now)
	p := &l.parts[r.part]
	l.hear(now, p, r)
	room, open := l.room(now), p.open()
	hold := min(share(l.parts, r.part, room+l.open()), open+max(0, room))
	p.number++
	o := offer{life: p.life, number: p.number, allowance: p.recorded + hold}
	p.offers = append(p.offers, o)
	p.ends, p.ended = now+validity, false
	return o
}

// hear puts on record what a report says.
func (l *ledger) hear(now int64, p *lent, r report) {
	if r.life != p.life {
		if n := p.open(); n > 0 {
			l.orphans = append(l.orphans, orphan{n, p.ends})
		}
		*p = lent{life: r.life, ended: true}
	}
	if p.ended {
		// All that the part was lent is on record, or an orphan. Count anew
		// from what it says: should that be old, some count twice.
		p.recorded, p.offers = r.used, nil
	}
	l.record(now, r.used-p.recorded)
	p.recorded = max(p.recorded, r.used)
	p.number = max(p.number, r.accepted)
	p.offers = slices.DeleteFunc(p.offers, func(o offer) bool { return o.number < r.accepted })
	p.queue = r.queue
}

// record notes admissions as of now, which is after they were made.
func (l *ledger) record(now, n int64) {
	if n <= 0 {
		return
	}
	if last := len(l.log) - 1; last >= 0 {
		n += l.log[last].total
	}
	l.log = append(l.log, entry{now, n})
}

// endLeases puts on record what was lent and not heard of in time, and forgets
// what is too old to count.
func (l *ledger) endLeases(now int64) {
	for i := range l.parts {
		p := &l.parts[i]
		if !p.ended && now > p.ends {
			l.record(now, p.open())
			*p = lent{life: p.life, number: p.number, ended: true}
		}
	}
	l.orphans = slices.DeleteFunc(l.orphans, func(o orphan) bool {
		if now > o.ends {
			l.record(now, o.n)
		}
		return now > o.ends
	})
	if old := l.before(now - minute); old > 1024 {
		l.log = slices.Delete(l.log, 0, old-1) // the last of them has the total
	}
}

// open is all that is lent and may still be used.
func (l *ledger) open() (n int64) {
	for i := range l.parts {
		n += l.parts[i].open()
	}
	for _, o := range l.orphans {
		n += o.n
	}
	return n
}

// room is how much more may be lent.
func (l *ledger) room(now int64) int64 {
	open := l.open()
	since := func(span int64) int64 {
		phantoms, logged := l.lost.Beside(now-span, l.since(now-span), l.since(max(now-span, l.lost.AtMillis+1)))
		return phantoms + logged + open
	}
	return l.rates.Room(since(l.rates.WindowMillis), since(minute))
}

// before is how many entries of the log are older than that.
func (l *ledger) before(t int64) int {
	n, _ := slices.BinarySearchFunc(l.log, t, func(e entry, t int64) int { return cmp.Compare(e.at, t) })
	return n
}

// since counts the admissions on record at or after the time.
func (l *ledger) since(t int64) int64 {
	n := l.before(t)
	switch {
	case n == len(l.log):
		return 0
	case n == 0:
		return l.log[len(l.log)-1].total
	}
	return l.log[len(l.log)-1].total - l.log[n-1].total
}

// lose forgets the latest writes: the ledger goes on from an earlier state of
// itself, and counts its window as full up to when all that it may have lent
// must have ended.
func (l *ledger) lose(now int64, earlier *ledger) {
	*l = *earlier.clone()
	l.lost = window.Phantoms{
		AtMillis: now + validity, WindowMillis: l.rates.WindowMillis,
		Limit: l.rates.Limit, PerMinute: l.rates.PerMinute,
	}
	l.orphans = nil // phantoms stand for them
	for i := range l.parts {
		l.parts[i] = lent{life: l.parts[i].life, number: l.parts[i].number, ended: true}
	}
}

func (l *ledger) clone() *ledger {
	c := *l
	c.log, c.orphans, c.parts = slices.Clone(l.log), slices.Clone(l.orphans), slices.Clone(l.parts)
	for i := range c.parts {
		c.parts[i].offers = slices.Clone(c.parts[i].offers)
	}
	return &c
}
