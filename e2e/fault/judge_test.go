package fault

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// maxOvertaken is how far, in windows' worth, G3 allows one to be
	// overtaken who polls when told to.
	maxOvertaken = 2
	// stayAway is the longest Retry-After of a refusal, with the way back. An
	// outage sends everybody away for one to three seconds: where the window is
	// shorter than that, so many windows' worth is what order can be kept to.
	stayAway = 4 * time.Second
)

// exactly is up to which position each that is told is exact. Beyond it, positions may be too high: by
// less than rounded, and by the part of them that the line moved on while a server remembered
// them (docs/decisions/0010-marks.md).
const (
	exactly     = 51_200
	rounded     = 512
	movedOnPart = 30
)

// allowance is how many later arrivals may be let in before one who polls when
// told to.
func allowance(rates window.Rates) int64 {
	windows := (stayAway.Milliseconds() + rates.WindowMillis - 1) / rates.WindowMillis
	return maxOvertaken * rates.Limit * max(1, windows)
}

// verdict is what the crowd saw of one zone.
type verdict struct {
	admitted, waiting int
	// windows counts the admissions that made a closed interval, of the
	// window or of 60 s, hold more than its limit; mostWindow and mostMinute are
	// the most that any such interval held.
	windows, mostWindow, mostMinute int
	// lost are the places that were lost, and how.
	lost []string
	// inversions counts those who were overtaken by more than allowed, or
	// stood behind a later arrival at the end; overtaken is by how many
	// windows' worth the worst was, overtaken99 one of a hundred.
	inversions             int
	overtaken, overtaken99 float64
	// everybody and everybody99 are the same with those who came late.
	everybody, everybody99 float64
	// late counts those who did not poll when told to, and so were not looked
	// at for order.
	late int
	// rose counts positions that rose.
	rose int
	// forgotten are those who were let in and, asking again at the end, were
	// told something else.
	forgotten []*visitor

	// errors counts requests that got no answer; odd are those among them
	// that are neither a store that is away nor a broken connection.
	errors int
	odd    []string
	// outage is the longest time between two answers in which somebody was
	// refused; slowest is the longest that a refusal for the store took.
	outage, slowest time.Duration
}

// judge judges one zone. For after the last round.
func (c *crowd) judge(settings zone.Settings) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine []*visitor
	for _, v := range c.visitors {
		if v.zoneID == settings.ZoneID && v.arrived != 0 {
			mine = append(mine, v)
		}
	}
	rates := window.RatesOf(settings)
	out := verdict{}
	var times []int64
	for _, v := range mine {
		out.rose += v.rose
		if v.late {
			out.late++
		}
		if v.forgotten != "" {
			out.forgotten = append(out.forgotten, v)
		}
		switch {
		case v.lost != "":
			out.lost = append(out.lost, v.name+": "+v.lost)
		case v.admitted != 0:
			out.admitted++
			times = append(times, v.admitted)
		default:
			out.waiting++
		}
	}
	slices.Sort(times)
	inWindows, mostWindow := measure.Over(times, rates.WindowMillis, rates.Limit)
	inMinutes, mostMinute := measure.Over(times, window.MinuteMillis, settings.PerMinute)
	out.windows, out.mostWindow, out.mostMinute = inWindows+inMinutes, mostWindow, mostMinute
	out.order(mine, rates.Limit, allowance(rates))
	out.requests(c.calls[settings.ZoneID])
	return out
}

// order looks at who was let in before whom, and who stood before whom at the
// end.
func (d *verdict) order(mine []*visitor, limit, allowed int64) {
	mine = slices.DeleteFunc(mine, func(v *visitor) bool { return v.lost != "" })
	slices.SortFunc(mine, func(a, b *visitor) int { return cmp.Compare(a.stands(), b.stands()) })
	stays := make([]measure.Stay, len(mine))
	last := int64(0)
	for i, v := range mine {
		stays[i] = measure.Stay{Arrived: v.stands(), Ended: v.admitted, In: v.admitted != 0}
		if v.admitted != 0 {
			continue
		}
		stays[i].Ended = math.MaxInt64
		if last != 0 && last <= exactly && v.position <= last {
			d.inversions++
		}
		last = v.position
	}
	var punctual, all []float64
	for i, n := range measure.Overtaken(stays) {
		windows := float64(n) / float64(limit)
		all = append(all, windows)
		if mine[i].late {
			continue
		}
		punctual = append(punctual, windows)
		if int64(n) > allowed {
			d.inversions++
		}
	}
	slices.Sort(punctual)
	slices.Sort(all)
	d.overtaken99, d.overtaken = measure.Percentile(punctual, 99), measure.Percentile(punctual, 100)
	d.everybody99, d.everybody = measure.Percentile(all, 99), measure.Percentile(all, 100)
}

// misplaced counts those of a zone who were not told that they stand where they arrived, or were drawn:
// first, second, third and so on, nobody between them. For after the last round
// of a crowd that all of the line is made of.
func (c *crowd) misplaced(zoneID string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []*visitor
	for _, v := range c.visitors {
		if v.zoneID == zoneID && v.waits() {
			waiting = append(waiting, v)
		}
	}
	slices.SortFunc(waiting, func(a, b *visitor) int { return cmp.Compare(a.stands(), b.stands()) })
	for i, v := range waiting {
		high := v.position - int64(i+1)
		if high != 0 && (v.position <= exactly || high < 0 || high >= rounded+v.position/movedOnPart) {
			n++
		}
	}
	return n
}

// requests looks at the answers and refusals of a zone.
func (d *verdict) requests(calls []call) {
	calls = slices.Clone(calls)
	slices.SortFunc(calls, func(a, b call) int { return a.at.Compare(b.at) })
	var answered time.Time
	refused := false
	for _, c := range calls {
		if c.code == "" {
			if refused && !answered.IsZero() {
				d.outage = max(d.outage, c.at.Sub(answered))
			}
			answered, refused = c.at, false
			continue
		}
		d.errors++
		refused = true
		switch c.code {
		case codeUnavailable:
			d.slowest = max(d.slowest, c.took)
		case codeBroken:
		default:
			d.odd = append(d.odd, c.text)
		}
	}
}
