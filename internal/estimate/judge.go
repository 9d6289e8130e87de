package estimate

import (
	"math"

	"github.com/openqueue/waitingroom/internal/line"
)

// Prediction is an estimate and its range, as a visitor was told them.
type Prediction struct {
	// AtMicros is when it was told, in Unix microseconds.
	AtMicros int64
	// Millis is the estimate. LowMillis and HighMillis are the range; both are 0 if none was told.
	Millis, LowMillis, HighMillis int64
}

// Judgement is how an estimate compares with the real wait.
type Judgement struct {
	// Off is (estimate - wait) / wait. Width is the width of the range / wait.
	Off, Width float64
	Outcome    Outcome
}

// Error is |estimate - wait| / wait.
func (j Judgement) Error() float64 { return math.Abs(j.Off) }

// Outcome is where the real wait lay, compared with the range.
type Outcome uint8

// The outcomes.
const (
	// Held: within the range.
	Held Outcome = iota
	// Sooner and Later: the visitor entered before the range began, and after its end.
	Sooner
	Later
	// NoRange: no range was told.
	NoRange
)

// Outcomes are the names of the outcomes of a range that was told, as metrics write them.
var Outcomes = [...]string{Held: "held", Sooner: "sooner", Later: "later"}

// Judge compares an estimate with when its visitor entered, in Unix microseconds. ok is false if the wait was shorter
// than a window: so short a wait depends on the moment of a poll.
func (t Prediction) Judge(enteredMicros, windowMillis int64) (j Judgement, ok bool) {
	wait := float64(enteredMicros-t.AtMicros) / 1000
	if wait < float64(windowMillis) || wait <= 0 {
		return j, false
	}
	j.Off, j.Width = (float64(t.Millis)-wait)/wait, float64(t.HighMillis-t.LowMillis)/wait
	switch {
	case t.HighMillis == 0:
		j.Outcome = NoRange
	case wait < float64(t.LowMillis):
		j.Outcome = Sooner
	case wait > float64(t.HighMillis):
		j.Outcome = Later
	default:
		j.Outcome = Held
	}
	return j, true
}

// Changed reports whether an operator or the autopilot changed how many may enter between the two tables. Then estimates of the earlier
// one are not to be judged.
func (t *Table) Changed(before *Table) bool {
	return t != nil && before != nil && (t.pace != before.pace && (!t.full || !before.full) || t.held != before.held ||
		t.recapped(before) != line.NoReason)
}
