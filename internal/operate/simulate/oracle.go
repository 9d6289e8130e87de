package simulate

import (
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// oracle tells what one could who knows how the crowd leaves, but not who will: no estimate
// can be expected to do better. It knows whoever missed a poll, as the room does, and of all the
// others how likely they are to be there at their turn; what an operator will do it
// does not know.
type oracle struct {
	// order are all who came, the first of them who may wait still is at from.
	order []int32
	from  int
	// pace is how many a minute enter, next how far off the next slot was.
	pace int64
	next float64
	// last is when one enters who comes now.
	last float64
}

// foresee works out when each who waits will enter.
func (r *run) foresee(s *line.Sample) {
	o, now := &r.oracle, float64(s.State.NowMillis)
	if s.Pace > 0 {
		o.pace, o.next = s.Pace, float64(s.FirstMillis)-now
	}
	if o.pace == 0 {
		return
	}
	for o.from < len(o.order) && r.visitors[o.order[o.from]].state > Waiting {
		o.from++
	}
	entry := now + o.next
	for _, i := range o.order[o.from:] {
		v := &r.visitors[i]
		v.foreseen = entry
		if (v.state == Waiting || v.state == Left) && v.due+window.GraceMillis >= s.State.NowMillis {
			entry += o.perPlace() * (1 - r.gone(v, entry)) / (1 - r.gone(v, float64(v.lastPoll)/1000))
		}
	}
	o.last = entry
}

// perPlace is what each who stays adds to the waits behind it, in milliseconds.
func (o *oracle) perPlace() float64 { return window.MinuteMillis / float64(o.pace) }

// gone is the probability that one who came has left by a time, in Unix milliseconds.
func (r *run) gone(v *visitor, at float64) float64 {
	return r.cfg.Leave * min(1, max(0, (at-v.leavesFrom)/v.leavesOver))
}

// foreseen is how long the oracle would tell one to wait, in milliseconds. Who has just come
// stands behind all whom it knew of.
func (r *run) foreseen(v *visitor, a *line.Answer) int64 {
	if r.oracle.pace == 0 {
		return a.WaitMillis
	}
	at := v.foreseen
	if at == 0 {
		at = r.oracle.last
		v.leavesFrom, v.leavesOver = r.leaves(a.Position)
		r.oracle.last += r.oracle.perPlace() * (1 - r.gone(v, at))
	}
	return max(0, int64(at)-a.State.NowMillis)
}
