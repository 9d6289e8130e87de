package fault

import (
	"cmp"
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
// them (docs/engineering/decisions/0010-marks.md).
const (
	exactly     = 51_200
	rounded     = 512
	movedOnPart = 30
)

// allowance is by how many windows' worth one may be overtaken who polls when told to.
func allowance(rates window.Rates) float64 {
	windows := (stayAway.Milliseconds() + rates.WindowMillis - 1) / rates.WindowMillis
	return float64(maxOvertaken * max(1, windows))
}

// verdict is what the crowd saw of one zone. Over counts the admissions beyond a limit.
type verdict struct {
	measure.Verdict
	// lost are the places that were lost, and how. On a machine that is not on time, a place is not counted whose visitor the
	// room did not hear of for an idle timeout (G4).
	lost []string
	// inversions counts those who were overtaken by more than allowed, or
	// stood behind a later arrival at the end.
	inversions int
	// late counts those who did not poll when told to, and so were not looked
	// at for order.
	late int
	// forgotten are those who were admitted and, asking again at the end, were
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

// overtaken is by how many windows' worth such a share of those who were punctual were overtaken, in percent.
func (v *verdict) overtaken(percent float64) float64 { return measure.Percentile(v.Overtaken, percent) }

// judge judges one zone. For after the last round.
func (c *crowd) judge(settings zone.Settings) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	rates := window.RatesOf(settings)
	out := verdict{}
	var all []measure.Visitor
	for _, v := range c.inOrder(settings.ZoneID) {
		all = append(all, measure.Visitor{
			Place: v.stands(), AdmittedMillis: v.admitted, Straight: v.straight, Late: v.late, Lost: v.lost != "", Rose: v.rose,
		})
		if v.late {
			out.late++
		}
		if v.forgotten != "" {
			out.forgotten = append(out.forgotten, v)
		}
		if v.lost != "" && (v.unheard <= settings.IdleTimeout() || onTime()) {
			out.lost = append(out.lost, v.name+": "+v.lost)
		}
	}
	out.Verdict = measure.Judge(all, rates)
	for _, windows := range out.Overtaken {
		if windows > allowance(rates) {
			out.inversions++
		}
	}
	last := int64(0)
	for _, v := range c.inOrder(settings.ZoneID) {
		if !v.waits() {
			continue
		}
		if last != 0 && last <= exactly && v.position <= last {
			out.inversions++
		}
		last = v.position
	}
	out.requests(c.calls[settings.ZoneID])
	return out
}

// inOrder are the visitors of a zone who have been told a place, as they stand in the line. The caller holds mu.
func (c *crowd) inOrder(zoneID string) (all []*visitor) {
	for _, v := range c.visitors {
		if v.zoneID == zoneID && v.arrived != 0 {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *visitor) int { return cmp.Compare(a.stands(), b.stands()) })
	return all
}

// misplaced counts those of a zone who were not told that they stand where they arrived, or were drawn:
// first, second, third and so on, nobody between them. For after the last round
// of a crowd that all of the line is made of.
func (c *crowd) misplaced(zoneID string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number := int64(0)
	for _, v := range c.inOrder(zoneID) {
		if !v.waits() {
			continue
		}
		number++
		high := v.position - number
		if high != 0 && (v.position <= exactly || high < 0 || high >= rounded+v.position/movedOnPart) {
			n++
		}
	}
	return n
}

// requests looks at the answers and refusals of a zone.
func (v *verdict) requests(calls []call) {
	calls = slices.Clone(calls)
	slices.SortFunc(calls, func(a, b call) int { return a.at.Compare(b.at) })
	var answered time.Time
	refused := false
	for _, c := range calls {
		if c.code == "" {
			if refused && !answered.IsZero() {
				v.outage = max(v.outage, c.at.Sub(answered))
			}
			answered, refused = c.at, false
			continue
		}
		v.errors++
		refused = true
		switch c.code {
		case codeUnavailable:
			v.slowest = max(v.slowest, c.took)
		case codeBroken, codeExpired: // whoever is told that it has expired has lost the place
		default:
			v.odd = append(v.odd, c.text)
		}
	}
}
