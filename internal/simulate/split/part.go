package split

import (
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/window"
)

// visitor waits in one part. Times are milliseconds of the run, but for the
// arrival: microseconds, so that no two in a part are the same.
type visitor struct {
	arrived  int64
	part     *part
	index    int   // in the part's line
	due      int64 // when told to poll next
	admitted int64 // 0: not yet
	leavesAt int64 // 0: never
	live     bool
	released bool
	polls    int
}

// part is one line of several, with the rule of package window but for who
// counts the window.
type part struct {
	id    int
	rates window.Rates // the zone's
	parts int64

	line  []*visitor // in order of arrival
	edge  int        // those before it are released
	live  []*visitor // in order of arrival
	shows window.Shows

	lease *lease
	// former is the lease of a master that another has replaced, and that has
	// not noticed. Both serve the line, as two masters never do in fact: it is
	// what they admit that matters here.
	former *lease
}

// report says how things stand under one of its leases.
func (p *part) report(now int64, l *lease) report {
	return report{
		part: p.id, life: l.life, accepted: l.accepted, used: l.used, clock: l.clock(now), queue: queueOf(p.live),
	}
}

// accept has every master that may be meant look at an offer.
func (p *part) accept(o offer, clock int64) {
	p.lease.accept(o, clock)
	if p.former != nil {
		p.former.accept(o, clock)
	}
}

// join takes a place at the end.
func (p *part) join(v *visitor, now int64) {
	v.part, v.index, v.arrived = p, len(p.line), now*1000
	if n := len(p.line); n > 0 {
		v.arrived = max(v.arrived, p.line[n-1].arrived+1)
	}
	p.line = append(p.line, v)
}

// takeOffLate takes those off the live who missed their appointment.
func (p *part) takeOffLate(now int64) {
	p.live = slices.DeleteFunc(p.live, func(v *visitor) bool {
		late := v.due+window.GraceMillis < now
		if late {
			v.live = false
			p.shows = p.shows.Miss(p.rates)
		}
		return late
	})
}

// release keeps the part's share of the target live.
func (p *part) release(now int64) {
	target := (p.rates.Target + p.parts - 1) / p.parts
	for n := 0; n < window.StepBatch && p.edge < len(p.line) && p.shows.Expect(int64(len(p.live)), p.rates) < target; n++ {
		v := p.line[p.edge]
		p.edge++
		v.released = true
		if v.due+window.GraceMillis >= now {
			p.enliven(v)
		}
	}
}

func (p *part) rank(v *visitor) int {
	return sort.Search(len(p.live), func(i int) bool { return p.live[i].index >= v.index })
}

func (p *part) enliven(v *visitor) {
	v.live = true
	p.live = slices.Insert(p.live, p.rank(v), v)
}

// poll admits the visitor under the lease, or says when to poll again.
func (p *part) poll(v *visitor, l *lease, now, jitter int64) (admitted bool, period int64) {
	p.release(now)
	v.polls++
	rates := p.rates
	if !v.released {
		ahead := (int64(v.index-p.edge) + int64(len(p.live))) * p.parts
		est := min(window.MaxEstimateMillis, ahead*minute/rates.PerMinute)
		period = rates.FarPeriod(est, now-v.arrived/1000, jitter)
		v.due = now + period
		return false, period
	}
	if !v.live {
		p.enliven(v)
		p.shows = p.shows.Return()
	}
	room, ahead := l.room(now), int64(p.rank(v))
	if room > 0 && ahead < room+rates.Limit/10/p.parts {
		p.shows = p.shows.Keep(rates)
		p.live = slices.Delete(p.live, int(ahead), int(ahead)+1)
		v.live, v.admitted = false, now
		l.used++
		return true, 0
	}
	opensIn := max(0, p.shows.Expect(ahead, rates)-room) * p.parts * minute / rates.PerMinute
	period = rates.AppointmentPeriod(opensIn, p.shows)
	v.due = now + period
	return false, period
}
