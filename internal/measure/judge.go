package measure

import (
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/window"
)

// Visitor is what one of a crowd saw of its time in the line.
type Visitor struct {
	// Place is where the visitor stands: of two, the one with the smaller place goes first. It is the
	// arrival, or what a draw gave instead.
	Place int64
	// AdmittedMillis is when the visitor was admitted, in milliseconds; 0 if it was not.
	AdmittedMillis int64
	// SeenMillis is when a visitor who was not admitted was last known to wait; 0: it waits still.
	SeenMillis int64
	// Straight: the visitor was admitted by its first request, and never waited.
	Straight bool
	// Late: the visitor did not poll when it was told to, so that others may pass it.
	Late bool
	// Lost: the place was lost. What others did meanwhile is then not counted for this visitor.
	Lost bool
	// Rose is how many of the positions that it was told were above the one before.
	Rose int
}

// Verdict is what a crowd shows of the promises that one visitor cannot see alone.
type Verdict struct {
	// Admitted, Waiting and Lost are how the visitors ended.
	Admitted, Waiting, Lost int
	// Times are when visitors were admitted, in milliseconds, sorted.
	Times []int64
	// MostWindow and MostMinute are the most admissions in any closed interval of a window and of 60 s, Over is
	// how many of the admissions made such an interval hold more than its limit.
	MostWindow, MostMinute, Over int
	// MostSecond is the most in any 1,000 ms that end when somebody is admitted who had waited.
	MostSecond int
	// Overtaken has, for each who polled when told to, by how many later visitors it was overtaken, in windows'
	// worth, sorted. Everybody has the same for all, the late included.
	Overtaken, Everybody []float64
	// Rose is how many positions rose.
	Rose int
}

// Judge judges all visitors of one zone. It keeps the rates of the zone throughout.
func Judge(visitors []Visitor, rates window.Rates) Verdict {
	var v Verdict
	var line, straight []int64
	var stays []Stay
	var late []bool
	for _, o := range visitors {
		v.Rose += o.Rose
		ended := o.AdmittedMillis
		switch {
		case o.Lost:
			v.Lost++
			continue
		case ended == 0:
			v.Waiting++
			if ended = o.SeenMillis; ended == 0 {
				ended = math.MaxInt64
			}
		case o.Straight:
			straight = append(straight, ended)
		default:
			line = append(line, ended)
		}
		stays = append(stays, Stay{Arrived: o.Place, Ended: ended, In: o.AdmittedMillis != 0})
		late = append(late, o.Late)
	}
	slices.Sort(line)
	slices.Sort(straight)
	v.Times = slices.Sorted(slices.Values(slices.Concat(line, straight)))
	v.Admitted = len(v.Times)
	var inWindows, inMinutes int
	inWindows, v.MostWindow = Over(v.Times, rates.WindowMillis, rates.Limit)
	inMinutes, v.MostMinute = Over(v.Times, window.MinuteMillis, rates.PerMinute)
	v.Over = inWindows + inMinutes
	v.MostSecond = MostFromLine(line, straight, window.SecondMillis)
	for i, n := range Overtaken(stays) {
		windows := float64(n) / float64(rates.Limit)
		v.Everybody = append(v.Everybody, windows)
		if !late[i] {
			v.Overtaken = append(v.Overtaken, windows)
		}
	}
	slices.Sort(v.Everybody)
	slices.Sort(v.Overtaken)
	return v
}
