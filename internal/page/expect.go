package page

import (
	"math"
	"strings"
	"time"
)

// interval is what a wait lies in. Both ends are milliseconds.
type interval struct {
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// rounded is a range in figures that people read: so many minutes, or hours. A low of 0 is "up to".
type rounded struct {
	low, high float64
	unit      time.Duration
}

// round is roundRange of clients/js, where nothing was shown before. false where a wait may be a day and more.
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

// wait writes how long somebody will wait: "4 to 6 minutes", or "about 5 minutes" where no
// range is known (nil). A day is the longest that the room tells.
func (l *locale) wait(estimateMillis int64, i *interval) string {
	if i != nil {
		if r, ok := i.round(); ok {
			return l.ranged(r)
		}
	}
	switch d := time.Duration(estimateMillis) * time.Millisecond; {
	case d >= day:
		return l.texts.OverDay
	case d < time.Minute:
		return l.texts.Soon
	default:
		return fill(l.texts.About, "duration", l.duration(d))
	}
}

// ranged writes a range.
func (l *locale) ranged(r rounded) string {
	forms := l.texts.Minutes
	if r.unit == time.Hour {
		forms = l.texts.Hours
	}
	switch {
	case r.low == 0 && r.high == 1:
		return l.texts.Soon
	case r.low == 0:
		return fill(l.texts.UpTo, "duration", l.count(forms, r.high))
	case r.low == r.high:
		return fill(l.texts.About, "duration", l.count(forms, r.high))
	}
	form := l.form(forms, r.high)
	if !strings.Contains(form, "{n}") {
		// A form without a figure, such as Arabic's of two, cannot stand beside another figure.
		form = forms["other"]
	}
	return fill(l.texts.Range, "low", l.number(r.low), "high", fill(form, "n", l.number(r.high)))
}
