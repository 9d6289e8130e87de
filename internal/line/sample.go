package line

// Sample is what a store says of a zone's line, once a second, to those who estimate how
// long people will wait. Times are those of the zone's clock.
type Sample struct {
	State State
	// Pace is how many a minute enter from the line; 0 while the zone is on hold.
	Pace int64
	// FirstMillis is when the next slot opens, SlotMillis when that of the first who is not
	// released is expected to, Unix milliseconds.
	FirstMillis, SlotMillis int64
	// Coming is the share of the live released who are expected to come, 0 to 1.
	Coming float64
	// Admitted is Totals's.
	Admitted int64
	// FrontMicros is where the first of the live stands; where the edge is, if there are none.
	FrontMicros int64
	// GraceMillis is how late a poll may be heard of whose visitor is there.
	GraceMillis int64
	// Line are some of those who wait, in order and evenly spread, at most as many
	// as were asked for: all of them where there are no more.
	Line []Seen
}

// Seen is one who waits.
type Seen struct {
	// StandsAtMicros is where it stands in the line.
	StandsAtMicros int64
	// PolledMillis is when it was last here, PeriodMillis how long it was told to wait then.
	PolledMillis, PeriodMillis int64
}

// There reports whether the visitor has not missed the time it was told, as far as is known.
func (s *Sample) There(v *Seen) bool {
	return v.PolledMillis+v.PeriodMillis+s.GraceMillis >= s.State.NowMillis
}

// Reason is why an estimate moved by more than what the line did by itself.
type Reason uint8

// The reasons.
const (
	// NoReason: it did not.
	NoReason Reason = iota
	// OnHold: nobody enters; the estimate is as if it went on now.
	OnHold
	// Resumed: it went on.
	Resumed
	// Faster and Slower: an operator changed how many may enter.
	Faster
	Slower
	// Recovering: the store lost something, and places come back.
	Recovering
)

var reasons = [...]string{NoReason: "", OnHold: "on_hold", Resumed: "resumed", Faster: "faster", Slower: "slower", Recovering: "recovering"}

// String is the reason as the API has it; "" for none.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return ""
}

// SampleRank is which of those who wait is the i-th of n that are looked at: one in each of n parts
// of the line, another each time.
func SampleRank(i, n, waiting, nowMillis int64) int64 {
	from, to := i*waiting/n, (i+1)*waiting/n
	return from + (nowMillis/97+i*7919)%(to-from)
}
