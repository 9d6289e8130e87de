package pilot

import (
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Sight is one look, as Decide takes it.
type Sight struct {
	// AtMillis is when the look ended, in Unix milliseconds.
	AtMillis int64 `json:"at" minimum:"0" maximum:"9007199254740991" doc:"When the look ended, in Unix milliseconds." example:"1795223373123"`
	// P95Millis is the 95th percentile of the time to the first byte of an answer; 0 if no answer began.
	P95Millis float64 `json:"p95Millis" minimum:"0" doc:"95 % of the site's answers began within so many milliseconds." example:"180"`
	// ErrorPercent is how many of a hundred answers failed.
	ErrorPercent float64 `json:"errorPercent" minimum:"0" maximum:"100" doc:"How many of a hundred answers failed." example:"0.4"`
	// Inside is how many were inside then.
	Inside int64 `json:"inside" minimum:"0" maximum:"9007199254740991" doc:"How many were inside." example:"480"`
}

// The reasons of a step.
const (
	Slow    zone.PilotWhy = "slow"    // the site took longer than the bound
	Errors  zone.PilotWhy = "errors"  // more answers failed than the bound allows
	Failing zone.PilotWhy = "failing" // half of the answers or more failed
	Room    zone.PilotWhy = "room"    // the cap is in use, and the site has room
	Bounded zone.PilotWhy = "bounds"  // the cap was not within the operator's bounds
)

// Reasons are all of them.
var Reasons = []string{string(Slow), string(Errors), string(Failing), string(Room), string(Bounded)}

// Step is a change of the cap.
type Step = zone.PilotStep

// The numbers of the rule.
const (
	// everyMillis is Every, minuteMillis how long a site is healthy before a raise.
	everyMillis  = int64(Every / time.Millisecond)
	minuteMillis = int64(time.Minute / time.Millisecond)
	// window is how many looks a breach is looked for in, and breaches how many lower the cap.
	window, breaches = 3, 2
	// lowered is what remains of the cap.
	lowered = 0.7
	// failing is from how many failed answers of a hundred on a site fails.
	failing = 50
	// roomBelow is up to which part of a bound a site has room: between it and the bound the cap stays as it is. With 0.8 a site with a sharp
	// knee came to rest so near its bound that it was beyond it for a tenth of the time.
	roomBelow = 0.5
	// inUse is from which part of the cap on, being inside, the cap is in use.
	inUse = 0.95
	// settled is up to which part of the cap those inside have to have fallen before a breach counts again.
	settled = 1.05
	// mostRaise and leastRaise bound a raise.
	mostRaise, leastRaise = 0.10, 0.02
)

// Decide returns the step to make from a cap within a zone's bounds, if there is one. looks are what was seen, the oldest first. Those count that began at
// sinceMillis or later: the last step, or the end of a time in which nothing was seen.
func Decide(b *zone.Settings, last Step, limit int64, looks []Sight, sinceMillis, nowMillis int64) (next Step, ok bool) {
	next = Step{AtMillis: nowMillis, From: limit, Ceiling: last.Ceiling}
	if n := len(looks); n > 0 {
		l := looks[n-1]
		next.P95Millis, next.ErrorPercent, next.Inside = l.P95Millis, math.Round(10*l.ErrorPercent)/10, l.Inside
	}
	to := func(n int64, why zone.PilotWhy) (Step, bool) {
		next.To, next.Why = min(b.PilotMax, max(b.PilotMin, n)), why
		return next, next.To != limit
	}
	switch {
	case limit == 0:
		return to(b.PilotMax, Bounded)
	case limit < b.PilotMin || limit > b.PilotMax:
		return to(limit, Bounded)
	}
	fresh := len(looks)
	for fresh > 0 && looks[fresh-1].AtMillis-everyMillis >= max(sinceMillis, last.AtMillis) {
		fresh--
	}
	looks = looks[fresh:]
	if inside, why := breach(b, limit, looks[max(0, len(looks)-window):]); why != "" {
		next.Ceiling = min(limit, inside)
		if why == Failing {
			return to(b.PilotMin, why)
		}
		return to(int64(lowered*float64(next.Ceiling)), why)
	}
	if raise := raise(b, last.Ceiling, limit, looks); raise > 0 {
		return to(limit+max(1, int64(raise*float64(limit))), Room)
	}
	return Step{}, false
}

func why(b *zone.Settings, s Sight) zone.PilotWhy {
	switch {
	case s.ErrorPercent >= max(failing, float64(b.PilotErrorPercent)):
		return Failing
	case s.ErrorPercent > float64(b.PilotErrorPercent):
		return Errors
	case s.P95Millis > float64(b.PilotP95Millis):
		return Slow
	default:
		return ""
	}
}

// breach returns why the cap is to fall, "" if it is not, and how many were inside at the first look in breach. While those inside are
// more than the cap allows, only failing counts.
func breach(b *zone.Settings, limit int64, looks []Sight) (inside int64, reason zone.PilotWhy) {
	found, failed := 0, 0
	for _, s := range looks {
		w := why(b, s)
		if w == "" || w != Failing && float64(s.Inside) > settled*float64(limit) {
			continue
		}
		if found++; found == 1 {
			inside = s.Inside
		}
		if reason = w; w == Failing {
			failed++
		}
	}
	switch {
	case found < breaches:
		return 0, ""
	case failed >= breaches:
		return inside, Failing
	case reason == Failing:
		return inside, Errors
	}
	return inside, reason
}

// raise returns by which part the cap may rise; 0: not at all. It is a half of the distance to the ceiling.
func raise(b *zone.Settings, ceiling, limit int64, looks []Sight) float64 {
	last := len(looks) - 1
	first := last
	for first >= 0 && looks[last].AtMillis-looks[first].AtMillis < minuteMillis-everyMillis {
		first--
	}
	if first < 0 || float64(max(looks[last].Inside, looks[last-1].Inside)) < inUse*float64(limit) {
		return 0
	}
	for _, s := range looks[first:] {
		if s.P95Millis > roomBelow*float64(b.PilotP95Millis) || s.ErrorPercent > roomBelow*float64(b.PilotErrorPercent) {
			return 0
		}
	}
	if ceiling == 0 {
		return mostRaise
	}
	return min(mostRaise, max(leastRaise, math.Abs(float64(limit)/float64(ceiling)-1)/2))
}
