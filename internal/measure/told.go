package measure

import (
	"iter"
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/estimate"
)

// Told says how good estimates were. Estimates of waits shorter than a window are not counted.
type Told struct {
	// ErrorP50 and ErrorP90 are of |estimate - wait| / wait, Bias is the median of (estimate -
	// wait) / wait.
	ErrorP50 float64 `json:"errorP50"`
	ErrorP90 float64 `json:"errorP90"`
	Bias     float64 `json:"bias"`
	// Covered is the share of estimates whose range held the real wait, which one without a range does
	// not; Width the median of how wide they were, in waits.
	Covered float64 `json:"covered"`
	Width   float64 `json:"width"`
}

// Estimates are how good those were that a crowd was told.
type Estimates struct {
	// All are of all estimates, Foreseen of those that no later change of an operator made wrong, and
	// Thirds of these by the third of the wait in which they were told.
	All, Foreseen Told
	Thirds        [3]Told
	// Moved is the share of pairs of consecutive estimates of one visitor between which the told time of entry moved by
	// more than a tenth of the whole wait, though no operator changed anything in between.
	Moved float64
}

// Entered is a visitor who was let in: when it joined and entered, in Unix microseconds, and what it was told.
type Entered struct {
	JoinedMicros, EnteredMicros int64
	Told                        []estimate.Told
}

// EstimatesOf compares what visitors were told with what became. Changed reports whether an operator
// changed how many may enter after one time and up to another, in Unix microseconds.
func EstimatesOf(visitors iter.Seq[Entered], windowMillis int64, changed func(from, to int64) bool) (out Estimates) {
	var all, foreseen judgements
	var thirds [3]judgements
	moved, pairs := 0, 0
	for v := range visitors {
		whole := v.EnteredMicros - v.JoinedMicros
		for i, t := range v.Told {
			j, ok := t.Judge(v.EnteredMicros, windowMillis)
			if !ok {
				continue
			}
			all.add(j)
			if changed(t.AtMicros, v.EnteredMicros) {
				continue
			}
			foreseen.add(j)
			thirds[min(2, 3*(t.AtMicros-v.JoinedMicros)/whole)].add(j)
			if i == 0 || changed(v.Told[i-1].AtMicros, t.AtMicros) {
				continue
			}
			pairs++
			if was := v.Told[i-1]; math.Abs(float64(t.AtMicros+1000*t.Millis-was.AtMicros-1000*was.Millis)) > float64(whole)/10 {
				moved++
			}
		}
	}
	out.All, out.Foreseen, out.Moved = all.sum(), foreseen.sum(), float64(moved)/float64(max(1, pairs))
	for i := range thirds {
		out.Thirds[i] = thirds[i].sum()
	}
	return out
}

// judgements collects some.
type judgements struct {
	errs, bias, width []float64
	held              int
}

func (c *judgements) add(j estimate.Judgement) {
	c.bias, c.errs, c.width = append(c.bias, j.Off), append(c.errs, j.Error()), append(c.width, j.Width)
	if j.Outcome == estimate.Held {
		c.held++
	}
}

func (c *judgements) sum() Told {
	slices.Sort(c.errs)
	slices.Sort(c.bias)
	slices.Sort(c.width)
	return Told{
		ErrorP50: Percentile(c.errs, 50), ErrorP90: Percentile(c.errs, 90), Bias: Percentile(c.bias, 50),
		Covered: float64(c.held) / max(1, float64(len(c.errs))), Width: Percentile(c.width, 50),
	}
}
