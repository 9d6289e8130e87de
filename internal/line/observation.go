package line

// Observation is what a store says of a zone's line, once a second: what operators see, and what waits are estimated
// from. Times are in Unix milliseconds or microseconds on the zone's clock.
type Observation struct {
	Stats
	// Pace is how many a minute enter from the line; 0 while the zone is on hold.
	Pace int64
	// MaxInside is the cap in force, which the caller of the store knows; 0 for none.
	MaxInside int64
	// FirstMillis is when the next slot opens. SlotMillis is when the first visitor who is not released is expected to
	// enter.
	FirstMillis, SlotMillis int64
	// Coming is the share of the live released who are expected to come, 0 to 1.
	Coming float64
	// FrontMicros is where the first live visitor stands; the edge if nobody is live.
	FrontMicros int64
	// GraceMillis is how late Line may show the poll of a visitor who is there.
	GraceMillis int64
	// Ends are when those leave who are inside, in a zone with a cap in which no stay is renewed (zone.InsideByAdmission).
	Ends Ends
	// Line has some of the waiting visitors, in order and evenly spread: at most as many as were asked for, and all if there
	// are no more.
	Line []Seen
}

// MaxEnds is how many Ends.Millis has at most.
const MaxEnds = 16

// Ends are when the stays of those inside end, if nobody leaves before: of Known stays, evenly spread in order from the first to the
// last. Room is how many more may be inside; below 0 if more are inside than may be.
type Ends struct {
	Room, Known int64
	Millis      []int64
}

// EndRank is the rank, in the order in which stays end, of the i-th of n in Ends.Millis.
func EndRank(i, n, known int64) int64 { return i * (known - 1) / max(1, n-1) }

// Seen is one visitor who waits.
type Seen struct {
	// StandsAtMicros is where the visitor stands in the line.
	StandsAtMicros int64
	// PolledMillis is when the visitor last polled. PeriodMillis is how long it was told to wait then.
	PolledMillis, PeriodMillis int64
}

// There reports whether the visitor has not missed the time at which it was told to poll, as far as is known.
func (s *Observation) There(v *Seen) bool {
	return v.PolledMillis+v.PeriodMillis+s.GraceMillis >= s.State.NowMillis
}

// Reason is why an estimate moved by more than the line's own movement explains.
type Reason uint8

// The reasons.
const (
	// NoReason: the estimate did not move so.
	NoReason Reason = iota
	// OnHold: nobody enters. The estimate is what it would be if the zone went on now.
	OnHold
	// Resumed: the zone went on after a hold.
	Resumed
	// Faster and Slower: an operator changed how many may enter.
	Faster
	Slower
	// Recovering: the store lost data, and places come back.
	Recovering
	// FullInside: as many are inside as may be, and visitors enter as others leave. It stays as long.
	FullInside
)

var reasons = [...]string{NoReason: "", OnHold: "on_hold", Resumed: "resumed", Faster: "faster", Slower: "slower", Recovering: "recovering", FullInside: "full_inside"}

// String returns the reason as the API writes it; "" for NoReason.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return ""
}

// SampleRank returns the rank in the line of the i-th of n visitors in Observation.Line. There is one in each of n equal parts
// of the line; which one changes with the time.
func SampleRank(i, n, waiting, nowMillis int64) int64 {
	from, to := i*waiting/n, (i+1)*waiting/n
	return from + (nowMillis/97+i*7919)%(to-from)
}
