package pilot

import (
	"math"

	"github.com/openqueue/waitingroom/internal/zone"
)

// Sight is one look, as Decide takes it.
type Sight struct {
	// AtMillis is when the look ended, in Unix milliseconds.
	AtMillis int64 `json:"at" minimum:"0" maximum:"9007199254740991" doc:"When the ten seconds ended, in Unix milliseconds." example:"1795223373123"`
	// P95Millis is the 95th percentile of the time to the first byte of an answer; 0 if no answer began.
	P95Millis float64 `json:"p95Millis" minimum:"0" doc:"95 % of the site's answers began within so many milliseconds." example:"180"`
	// ErrorPercent is how many of a hundred answers failed.
	ErrorPercent float64 `json:"errorPercent" minimum:"0" maximum:"100" doc:"How many of a hundred answers failed." example:"0.4"`
	// Inside is how many were inside then.
	Inside int64 `json:"inside" minimum:"0" maximum:"9007199254740991" doc:"How many were inside." example:"480"`
}

// Bounds are what an operator allows.
type Bounds struct {
	// Min and Max bound the cap: 1 or more.
	Min, Max int64
	// P95Millis and ErrorPercent are up to where a site is healthy.
	P95Millis, ErrorPercent int64
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
	// everyMillis is Every.
	everyMillis = int64(Every / 1e6)
	// Keep is how many looks Decide goes by: those of a minute.
	Keep = 6
	// window is how many looks a breach is looked for in, and breaches how many lower the cap.
	window, breaches = 3, 2
	// lowered is what remains of the cap.
	lowered = 0.7
	// failing is from how many failed answers of a hundred on a site fails.
	failing = 50
	// roomBelow is up to which part of a bound a site has room: between it and the bound the cap stays as it is.
	roomBelow = 0.8
	// inUse is from which part of the cap on, being inside, the cap is in use.
	inUse = 0.95
	// settled is up to which part of the cap those inside have to have fallen before a breach counts again.
	settled = 1.05
	// mostRaise and leastRaise bound a raise.
	mostRaise, leastRaise = 0.10, 0.02
	// farBelow is up to which part of the ceiling a raise follows two looks after the last; above, a minute.
	farBelow = 0.85
)

// BoundsOf are those that a zone's settings name.
func BoundsOf(s zone.Settings) Bounds {
	return Bounds{Min: s.PilotMin, Max: s.PilotMax, P95Millis: s.PilotP95Millis, ErrorPercent: s.PilotErrorPercent}
}

// Recent leaves out the looks that are no longer gone by: all but the latest Keep, and those older than that many take, and two more.
func Recent(looks []Sight, nowMillis int64) []Sight {
	looks = looks[max(0, len(looks)-Keep):]
	for len(looks) > 0 && looks[0].AtMillis < nowMillis-(Keep+2)*everyMillis {
		looks = looks[1:]
	}
	return looks
}

// Decide returns the step to make from a cap, if there is one. last is the last step that was made, looks are what was seen, the oldest
// first. A look counts that began after the last step.
func Decide(b Bounds, last Step, limit int64, looks []Sight, nowMillis int64) (next Step, ok bool) {
	looks = Recent(looks, nowMillis)
	next = Step{AtMillis: nowMillis, From: limit, Ceiling: last.Ceiling}
	if n := len(looks); n > 0 {
		l := looks[n-1]
		next.P95Millis, next.ErrorPercent, next.Inside = l.P95Millis, math.Round(10*l.ErrorPercent)/10, l.Inside
	}
	to := func(n int64, why zone.PilotWhy) (Step, bool) {
		next.To, next.Why = min(b.Max, max(b.Min, n)), why
		return next, next.To != limit
	}
	switch {
	case limit == 0:
		return to(b.Max, Bounded)
	case limit < b.Min || limit > b.Max:
		return to(limit, Bounded)
	}
	fresh := looks
	for len(fresh) > 0 && fresh[0].AtMillis-everyMillis < last.AtMillis {
		fresh = fresh[1:]
	}
	if at, why := breach(b, limit, fresh[max(0, len(fresh)-window):]); why != "" {
		next.Ceiling = min(limit, at)
		if why == Failing {
			return to(b.Min, why)
		}
		return to(int64(lowered*float64(next.Ceiling)), why)
	}
	if raise := raise(b, next.Ceiling, limit, looks, fresh); raise > 0 {
		return to(limit+max(1, int64(raise*float64(limit))), Room)
	}
	return Step{}, false
}

func (b Bounds) why(s Sight) zone.PilotWhy {
	switch {
	case s.ErrorPercent >= max(failing, float64(b.ErrorPercent)):
		return Failing
	case s.ErrorPercent > float64(b.ErrorPercent):
		return Errors
	case s.P95Millis > float64(b.P95Millis):
		return Slow
	default:
		return ""
	}
}

// breach returns why the cap is to fall, "" if it is not, and how many were inside at the first look in breach. While those inside are
// more than the cap allows, only failing counts.
func breach(b Bounds, limit int64, looks []Sight) (inside int64, why zone.PilotWhy) {
	found, failed := 0, 0
	for _, s := range looks {
		w := b.why(s)
		if w == "" || w != Failing && float64(s.Inside) > settled*float64(limit) {
			continue
		}
		if found++; found == 1 {
			inside = s.Inside
		}
		if why = w; w == Failing {
			failed++
		}
	}
	switch {
	case found < breaches:
		return 0, ""
	case failed >= breaches:
		return inside, Failing
	case why == Failing:
		return inside, Errors
	}
	return inside, why
}

// raise returns by which part the cap may rise; 0: not at all.
func raise(b Bounds, ceiling, limit int64, looks, fresh []Sight) float64 {
	by, after := mostRaise, Keep
	if ceiling > 0 {
		away := float64(limit)/float64(ceiling) - 1
		by = min(mostRaise, max(leastRaise, math.Abs(away)/2))
		if away < 0 {
			by = min(by, max(leastRaise, -away)) // not beyond the ceiling
		}
		if float64(limit) < farBelow*float64(ceiling) {
			after = breaches
		}
	}
	if len(looks) < Keep || len(fresh) < after {
		return 0
	}
	for _, s := range looks {
		if b.why(s) != "" {
			return 0
		}
	}
	used := false
	for _, s := range fresh[len(fresh)-breaches:] {
		if s.P95Millis > roomBelow*float64(b.P95Millis) || s.ErrorPercent > roomBelow*float64(b.ErrorPercent) {
			return 0
		}
		used = used || float64(s.Inside) >= inUse*float64(limit)
	}
	if !used {
		return 0
	}
	return by
}
