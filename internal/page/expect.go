package page

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// rounded is a range in figures that people read, counted in unit: minutes or hours. A low of 0 is
// shown as "up to".
type rounded struct {
	low, high float64
	unit      time.Duration
}

// round rounds the range of a wait, in milliseconds, as roundRange of clients/js does if no range was shown before. ok is false
// if the wait may be a day or more.
func round(low, high int64) (r rounded, ok bool) {
	const few = 90_000
	unit, fine, coarse, border := time.Minute, 1.0, 5.0, 10.0
	switch {
	case high >= day.Milliseconds():
		return r, false
	case high > time.Minute.Milliseconds() && high <= few:
		return rounded{1, 1, unit}, true
	case high <= few:
		return rounded{0, 1, unit}, true
	case high > 90*time.Minute.Milliseconds():
		unit, fine, coarse, border = time.Hour, 0.5, 1, 6
	}
	end := func(outward float64, millis int64) float64 {
		n, step := float64(millis)/float64(unit.Milliseconds()), fine
		if n >= border {
			step = coarse
		}
		return outward * math.Ceil(outward*n/step-0.1) * step
	}
	return rounded{end(-1, low), end(1, high), unit}, true
}

// steady returns the range of a wait, in milliseconds, that is to be shown to a visitor who sees the range shown: that one,
// unless an end is off by more than a tenth of the wait. So figures do not flicker. shown is two numbers, as view.Range; "" for
// none.
func steady(low, high int64, shown string) (int64, int64) {
	var wasLow, wasHigh int64
	if n, err := fmt.Sscan(shown, &wasLow, &wasHigh); err != nil || n < 2 {
		return low, high
	}
	if bound := high / 10; max(low-wasLow, wasLow-low, high-wasHigh, wasHigh-high) > bound {
		return low, high
	}
	return wasLow, wasHigh
}

// wait writes how long a visitor will wait: "4 to 6 minutes", or "about 5 minutes" if no
// range is known (high is 0). An estimate of a day or more is written as "more than a day". Times are in milliseconds.
func (l *locale) wait(estimate, low, high int64) string {
	if high > 0 {
		if r, ok := round(low, high); ok {
			return l.ranged(r)
		}
	}
	switch d := time.Duration(estimate) * time.Millisecond; {
	case d >= day:
		return l.text("overDay")
	case d < time.Minute:
		return l.text("soon")
	default:
		return l.text("about", "duration", l.duration(d))
	}
}

func (l *locale) ranged(r rounded) string {
	forms := l.texts.Minutes
	if r.unit == time.Hour {
		forms = l.texts.Hours
	}
	switch {
	case r.low == 0 && r.high == 1:
		return l.text("soon")
	case r.low == 0:
		return l.text("upTo", "duration", l.count(forms, r.high))
	case r.low == r.high:
		return l.text("about", "duration", l.count(forms, r.high))
	}
	form := l.form(forms, r.high)
	if !strings.Contains(form, "{n}") {
		// A form that has no {n}, such as the Arabic one for two, cannot end a range.
		form = forms["other"]
	}
	return l.text("range", "low", l.number(r.low), "high", fill(form, "n", l.number(r.high)))
}
