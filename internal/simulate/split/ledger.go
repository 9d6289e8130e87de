package split

import (
	"cmp"
	"slices"

	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// validity is how long a lease lasts, in milliseconds: ten rounds of
	// messages, and the longest that the death of a part keeps its share idle
	// before it counts as used.
	validity = 1000
	// minute is the span of the second limit.
	minute = window.MinuteMillis
)

// report is what a part tells the ledger.
type report struct {
	part int
	// epoch tells the part's lives apart: it rises when a part may have lost
	// writes.
	epoch int64
	// accepted is the number of the offer that holds, 0 for none.
	accepted int64
	// used is how many the part has admitted in this epoch; ages are those of
	// the last of them, the newest last, in milliseconds and never too high.
	used int64
	ages []int64
	// heads are the arrivals of its live released visitors, the first and then
	// every stride-th.
	heads  []int64
	stride int64
	// clock is the part's time: what the end of the lease is counted from.
	clock int64
}

// offer is what the ledger lends: the part may admit until it has used the
// allowance. A later number replaces an earlier one; number 0 is no offer.
type offer struct {
	epoch, number, allowance int64
	// recorded is how many admissions need not be reported again.
	recorded int64
}

// lent is what the ledger knows of one part.
type lent struct {
	epoch, number int64
	// recorded is how many admissions of the epoch are on record.
	recorded int64
	// offers may hold: the one that the part named last, and all after it.
	offers []offer
	// ends is when the last of them has ended.
	ends int64
	// ended: it has, and what it left open is on record as used.
	ended bool

	heads  []int64
	stride int64
}

// most is the highest count that the part may reach.
func (p *lent) most() int64 {
	most := p.recorded
	for _, o := range p.offers {
		most = max(most, o.allowance)
	}
	return most
}

// orphan is what a part's earlier life may still use.
type orphan struct{ n, ends int64 }

// ledger decides how much each part may admit. Its times are milliseconds on
// its own clock.
type ledger struct {
	rates window.Rates
	// log holds when admissions count as made, in order.
	log     []int64
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
	if r.epoch < p.epoch {
		return offer{}
	}
	l.hear(now, p, r)
	open := p.most() - p.recorded
	room := l.room(now)
	hold := min(l.share(r.part, room+l.open()), open+max(0, room))
	p.number++
	o := offer{epoch: p.epoch, number: p.number, allowance: p.recorded + max(0, hold), recorded: p.recorded}
	p.offers = append(p.offers, o)
	p.ends, p.ended = now+validity, false
	return o
}

// hear puts on record what a report says.
func (l *ledger) hear(now int64, p *lent, r report) {
	if r.epoch > p.epoch {
		if n := p.most() - p.recorded; n > 0 {
			l.orphans = append(l.orphans, orphan{n, p.ends})
		}
		*p = lent{epoch: r.epoch}
	}
	if p.ended {
		// What was left open is on record already, as of the end. Count anew
		// from what the part says, be it old: that only counts some twice.
		p.recorded, p.offers = r.used, nil
	}
	for i, age := range r.ages {
		if r.used-int64(len(r.ages))+int64(i) >= p.recorded {
			l.record(now - age)
		}
	}
	p.recorded = max(p.recorded, r.used)
	p.number = max(p.number, r.accepted)
	p.offers = slices.DeleteFunc(p.offers, func(o offer) bool { return o.number < r.accepted })
	p.heads, p.stride = r.heads, r.stride
}

// record notes an admission.
func (l *ledger) record(at int64) {
	i, _ := slices.BinarySearch(l.log, at+1)
	l.log = slices.Insert(l.log, i, at)
}

// endLeases puts on record what was lent and not heard of in time, and forgets
// what is too old to count.
func (l *ledger) endLeases(now int64) {
	for i := range l.parts {
		p := &l.parts[i]
		if p.ended || now <= p.ends {
			continue
		}
		p.ended = true
		for range p.most() - p.recorded {
			l.record(p.ends)
		}
		p.recorded, p.offers = p.most(), nil
	}
	l.orphans = slices.DeleteFunc(l.orphans, func(o orphan) bool {
		if now <= o.ends {
			return false
		}
		for range o.n {
			l.record(o.ends)
		}
		return true
	})
	old, _ := slices.BinarySearch(l.log, now-minute-validity)
	l.log = slices.Delete(l.log, 0, old)
}

// open is all that is lent and may still be used.
func (l *ledger) open() (n int64) {
	for i := range l.parts {
		n += l.parts[i].most() - l.parts[i].recorded
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

// since counts the admissions on record at or after the time.
func (l *ledger) since(t int64) int64 {
	i, _ := slices.BinarySearch(l.log, t)
	return int64(len(l.log) - i)
}

// share is how much of n is for a part, when the oldest of all that wait come
// first.
func (l *ledger) share(part int, n int64) (mine int64) {
	type head struct {
		arrived int64
		part    int
	}
	var heads []head
	for i := range l.parts {
		for _, arrived := range l.parts[i].heads {
			heads = append(heads, head{arrived, i})
		}
	}
	slices.SortFunc(heads, func(a, b head) int { return cmp.Compare(a.arrived, b.arrived) })
	for _, h := range heads {
		some := min(n, l.parts[h.part].stride)
		if h.part == part {
			mine += some
		}
		if n -= some; n <= 0 {
			break
		}
	}
	return mine
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
		l.parts[i].offers, l.parts[i].ended = nil, true
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
