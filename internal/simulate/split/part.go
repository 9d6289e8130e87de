package split

import (
	"slices"
	"sort"

	"github.com/openqueue/waitingroom/internal/window"
)

// visitor waits in one part. Times are milliseconds of the run.
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
// counts the window. Its clock differs from the run's.
type part struct {
	id    int
	rates window.Rates // the zone's
	parts int64

	// skew and drift make its clock: drift in millionths.
	skew, drift int64
	// silentUntil is when its messages arrive again.
	silentUntil int64

	line  []*visitor // in order of arrival
	edge  int        // those before it are released
	live  []*visitor // in order of arrival
	gone  int64      // of the line, admitted
	shows window.Shows

	// The lease: see report and offer.
	epoch, accepted, used, allowance int64
	ends                             int64 // on the part's clock
	// unrecorded are the latest admissions, on the part's clock.
	unrecorded []int64
}

func (p *part) clock(now int64) int64 { return now + p.skew + now/1000*p.drift/1000 }

// room is how many the lease lets in now.
func (p *part) room(now int64) int64 {
	if p.clock(now) >= p.ends {
		return 0
	}
	return p.allowance - p.used
}

// report says how things stand. strides is into how many steps the live
// released are divided.
func (p *part) report(now int64) report {
	r := report{part: p.id, epoch: p.epoch, accepted: p.accepted, used: p.used, clock: p.clock(now)}
	for _, at := range p.unrecorded {
		// A thousandth less, and a millisecond for what was rounded: the age on
		// the ledger's clock is not below that.
		age := r.clock - at
		r.ages = append(r.ages, max(0, age-age/1000-1))
	}
	r.stride = max(1, p.rates.Target/p.parts/steps)
	for i := int64(0); i < int64(len(p.live)); i += r.stride {
		r.heads = append(r.heads, p.live[i].arrived)
	}
	return r
}

// accept takes an offer that answers a report of this clock.
func (p *part) accept(o offer, clock int64) {
	if o.epoch != p.epoch || o.number <= p.accepted {
		return
	}
	p.accepted, p.allowance = o.number, o.allowance
	p.ends = clock + validity - validity/100
	if n := int64(len(p.unrecorded)) - (p.used - o.recorded); n > 0 {
		p.unrecorded = slices.Delete(p.unrecorded, 0, int(min(n, int64(len(p.unrecorded)))))
	}
}

// restart is a fail-over that lost the latest writes: nothing is lent any
// more. The line heals from the tokens, as today, so here it stays.
func (p *part) restart(skew int64) {
	p.epoch++
	p.accepted, p.used, p.allowance, p.ends, p.unrecorded = 0, 0, 0, 0, nil
	p.skew = skew
}

// join takes a place at the end.
func (p *part) join(v *visitor, now int64) {
	v.part, v.index, v.arrived = p, len(p.line), now
	p.line = append(p.line, v)
}

// takeOffLate and release keep the part's share of the target live.
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

// poll admits the visitor, or says when to poll again.
func (p *part) poll(v *visitor, now, jitter int64) (admitted bool, period int64) {
	p.release(now)
	v.polls++
	rates := p.rates
	if !v.released {
		ahead := (int64(v.index-p.edge) + int64(len(p.live))) * p.parts
		est := min(window.MaxEstimateMillis, ahead*minute/rates.PerMinute)
		period = rates.FarPeriod(est, now-v.arrived, jitter)
		v.due = now + period
		return false, period
	}
	if !v.live {
		p.enliven(v)
		p.shows = p.shows.Return()
	}
	room, ahead := p.room(now), int64(p.rank(v))
	if room > 0 && ahead < room+rates.Limit/10/p.parts {
		p.shows = p.shows.Keep(rates)
		p.live = slices.Delete(p.live, int(ahead), int(ahead)+1)
		v.live, v.admitted = false, now
		p.gone++
		p.used++
		p.unrecorded = append(p.unrecorded, p.clock(now))
		return true, 0
	}
	opensIn := max(0, p.shows.Expect(ahead, rates)-room) * p.parts * minute / rates.PerMinute
	period = rates.AppointmentPeriod(opensIn, p.shows)
	v.due = now + period
	return false, period
}

// steps is into how many steps a report divides the live released.
const steps = 128
