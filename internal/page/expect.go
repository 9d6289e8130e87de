package page

import (
	"math"
	"strings"
	"time"
)

// interval is a range in which a wait lies, in milliseconds.
type interval struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// rounded is a range in figures that people read, counted in unit: minutes or hours. A low of 0 is
// shown as "up to".
type rounded struct {
	low, high float64
	unit      time.Duration
}

// round does what roundRange of clients/js does if no range was shown before. ok is false if the wait may be
// a day or more.
func (i *interval) round() (r rounded, ok bool) {
	const few = 90_000
	unit, fine, coarse, border := time.Minute, 1.0, 5.0, 10.0
	switch {
	case i.High >= day.Milliseconds():
		return r, false
	case i.High > time.Minute.Milliseconds() && i.High <= few:
		return rounded{1, 1, unit}, true
	case i.High <= few:
		return rounded{0, 1, unit}, true
	case i.High > 90*time.Minute.Milliseconds():
		unit, fine, coarse, border = time.Hour, 0.5, 1, 6
	}
	end := func(outward float64, millis int64) float64 {
		n, step := float64(millis)/float64(unit.Milliseconds()), fine
		if n >= border {
			step = coarse
		}
		return outward * math.Ceil(outward*n/step-0.1) * step
	}
	return rounded{end(-1, i.Low), end(1, i.High), unit}, true
}

// wait writes how long a visitor will wait: "4 to 6 minutes", or "about 5 minutes" if no
// range is known (nil). An estimate of a day or more is written as "more than a day".
func (l *locale) wait(estimateMillis int64, i *interval) string {
	if i != nil {
		if r, ok := i.round(); ok {
			return l.ranged(r)
		}
	}
	switch d := time.Duration(estimateMillis) * time.Millisecond; {
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
