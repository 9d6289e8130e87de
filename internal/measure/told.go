package measure

import (
	"iter"
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

// Entered is a visitor who was let in: when it joined and entered, in Unix microseconds, and what it was told.
type Entered struct {
	JoinedMicros, EnteredMicros int64
	Told                        []estimate.Told
}

// EstimatesOf compares what visitors were told with what became. It returns how good all estimates were, and those of
// each third of the wait.
func EstimatesOf(visitors iter.Seq[Entered], windowMillis int64) (told Told, ofThirds [3]Told) {
	var all judgements
	var thirds [3]judgements
	for v := range visitors {
		for _, t := range v.Told {
			j, ok := t.Judge(v.EnteredMicros, windowMillis)
			if !ok {
				continue
			}
			all.add(j)
			thirds[min(2, 3*(t.AtMicros-v.JoinedMicros)/(v.EnteredMicros-v.JoinedMicros))].add(j)
		}
	}
	for i := range thirds {
		ofThirds[i] = thirds[i].sum()
	}
	return all.sum(), ofThirds
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
