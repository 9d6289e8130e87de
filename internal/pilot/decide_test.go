package pilot_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// day is a site with a crowd before it that never ends, steered in virtual time.
type day struct {
	site pilot.Site
	stay time.Duration
	// perSecond is how many are admitted at most, in the beginning cap is the cap.
	perSecond float64
	cap       int64
	bounds    zone.Settings
	// power is which part of its machines the site has at a second; nil: all.
	power func(second int) float64
	// off: nobody steers.
	off bool
}

// seen is what a day came to.
type seen struct {
	// inBound is the share of seconds in which the site was within its bounds, used the goodput over the site's best.
	inBound, used float64
	// lowered counts the steps down, lowest and highest are those of the cap.
	lowered         int
	lowest, highest int64
	steps           []pilot.Step
}

// play runs a day, and judges the seconds from a time on.
func (d day) play(seed uint64, span, from time.Duration) (out seen) {
	rng := rand.New(rand.NewPCG(seed, 1))
	inside, limit, best, good, judged, fine := 0.0, d.cap, 0.0, 0.0, 0, 0
	var looks []pilot.Sight
	var last pilot.Step
	var p95s, fails []float64
	out.lowest = math.MaxInt64
	for second := range int(span.Seconds()) {
		site := d.site
		if d.power != nil {
			site.AtOnce = int64(float64(site.AtOnce) * d.power(second))
		}
		gone := 0.0 // each of them goes with the same chance; a sum of many is nearly normal
		if mean := inside / d.stay.Seconds(); mean > 0 {
			gone = min(inside, max(0, mean+math.Sqrt(mean)*rng.NormFloat64()))
		}
		inside -= gone
		inside += max(0, min(d.perSecond, float64(limit)-inside))
		p95, failed, perSecond := site.At(int64(inside))
		p95 *= math.Exp(0.05 * rng.NormFloat64())
		p95s, fails = append(p95s, p95), append(fails, failed)
		if second >= int(from.Seconds()) {
			judged++
			best += site.Best()
			good += perSecond
			if p95 <= float64(d.bounds.PilotP95Millis) && 100*failed <= float64(d.bounds.PilotErrorPercent) {
				fine++
			}
			out.lowest, out.highest = min(out.lowest, limit), max(out.highest, limit)
		}
		if every := int(pilot.Every.Seconds()); (second+1)%every == 0 && !d.off {
			s := pilot.Sight{AtMillis: int64(second+1) * 1000, Inside: int64(inside)}
			for i := range every {
				s.P95Millis = max(s.P95Millis, p95s[len(p95s)-1-i])
				s.ErrorPercent += 100 * fails[len(fails)-1-i] / float64(every)
			}
			looks = append(looks, s)
			if step, ok := pilot.Decide(&d.bounds, last, limit, looks, 0, s.AtMillis); ok {
				if step.To < step.From && second >= int(from.Seconds()) {
					out.lowered++
				}
				last, limit = step, step.To
				out.steps = append(out.steps, step)
			}
		}
	}
	out.inBound, out.used = float64(fine)/float64(judged), good/best
	return out
}

// shop is a site of 200 at a time and 40 ms, which bears some 25,000 visitors inside, with a cap that is twice too high and a perMinute
// that is four times too high.
func shop(stay time.Duration) day {
	s, _ := pilot.ReadSite("200 at a time, 40 ms")
	return day{
		site: s, stay: stay, perSecond: 4 * 25_000 / stay.Seconds(), cap: 50_000,
		bounds: zone.Settings{PilotMin: 2_000, PilotMax: 50_000, PilotP95Millis: 400, PilotErrorPercent: 2},
	}
}

// Swinging is measured by how often the cap is lowered in the last hour of 90 minutes: each is a fall to 70 %.
func TestWithinBound(t *testing.T) {
	t.Parallel()
	for _, stay := range []time.Duration{30 * time.Second, 75 * time.Second, 2 * time.Minute, 4 * time.Minute, 15 * time.Minute} {
		for seed := range uint64(5) {
			d := shop(stay)
			got, late := d.play(seed, 90*time.Minute, 2*time.Minute), d.play(seed, 90*time.Minute, 30*time.Minute)
			t.Logf("stays of %v: in bound %.3f of the time, %.3f of the best, lowered %d and %d times, cap %d to %d", stay, got.inBound, got.used,
				got.lowered, late.lowered, late.lowest, late.highest)
			if got.inBound < 0.95 || got.used < 0.85 || late.lowered > 3 {
				t.Errorf("stays of %v: %d", stay, len(got.steps))
			}
			if d.off = true; seed == 0 {
				t.Logf("nobody steers: in bound %.3f of the time", d.play(seed, 90*time.Minute, 2*time.Minute).inBound)
			}
		}
	}
}

func TestHalfThePower(t *testing.T) {
	t.Parallel()
	const from, upto = 40 * 60, 43 * 60
	for _, stay := range []time.Duration{30 * time.Second, 75 * time.Second, 2 * time.Minute} {
		d := shop(stay)
		d.power = func(second int) float64 {
			if from <= second && second < upto {
				return 0.5
			}
			return 1
		}
		weak := d.play(1, upto*time.Second, (from+90)*time.Second)
		back := d.play(1, 80*time.Minute, (upto+10*60)*time.Second)
		t.Logf("stays of %v: with half the power in bound %.3f of the time, cap %d to %d; ten minutes later %.3f, %.3f of the best", stay, weak.inBound,
			weak.lowest, weak.highest, back.inBound, back.used)
		if weak.inBound < 0.6 || weak.lowest < d.bounds.PilotMin || back.inBound < 0.95 || back.used < 0.85 {
			t.Errorf("stays of %v", stay)
		}
	}
}
