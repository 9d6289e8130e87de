package window

const (
	// MaxEstimateMillis is the longest wait ever told: a day. A zone that
	// admits nobody tells it to everyone.
	MaxEstimateMillis = 86_400_000
	// MinPeriodMillis is the shortest period, before jitter, told to a visitor beyond the edge.
	MinPeriodMillis = 1_000
	// FirstPeriodMillis is the longest period told to a newcomer.
	FirstPeriodMillis = 4_000
	// NearPeriodMillis is the longest period told to a visitor whose wait is within NearMillis, FarPeriodMillis to
	// others, and MaxPeriodMillis to a visitor with FarAway or more visitors ahead beyond the edge: at 600,000 a minute
	// those take 20 s to enter.
	NearPeriodMillis = 10_000
	NearMillis       = 35_000
	FarPeriodMillis  = 20_000
	MaxPeriodMillis  = 60_000
	FarAway          = 200_000
	// SoonMillis: a visitor whose slot opens within SoonMillis is told to poll when it opens.
	SoonMillis = 4_000
	// PausedApartMillis is how far apart the visitors of a paused zone are supposed to enter once it goes on, since nobody
	// knows the limit that it will have then. Up to 6,720 a minute, all have polled by their turn, or within SoonMillis.
	// It costs at most 300 polls a second, whatever the length of the line.
	PausedApartMillis = 25
	// MinAppointmentMillis keeps a released visitor from polling in a tight loop: with 250 ms, a slot idles for an
	// eighth of a second on average.
	MinAppointmentMillis = 250
)

// Estimate is the expected wait, in milliseconds, of a visitor with so many live released and so many far visitors ahead,
// given the room now. Of the far ones, only the share that was live when the edge lately reached them counts: edgeLive
// of edgePassed. The result is at most MaxEstimateMillis.
func (r Rates) Estimate(live, far, room, edgeLive, edgePassed int64) int64 {
	if r.Pace == 0 {
		return MaxEstimateMillis
	}
	if edgePassed > 0 {
		far = far * edgeLive / edgePassed
	}
	return min(MaxEstimateMillis, max(0, live+far+1-room)*MinuteMillis/r.Pace)
}

// FarPeriod is in how many milliseconds a visitor beyond the edge, with far visitors ahead there, polls next: after 5/14
// of the expected wait, at least 1 s. It is at most 4 s plus half of what the visitor has waited already: most who leave
// do so early, and are missed only when they fail to poll. It is at most 10 s near the front, 60 s far away and 20 s
// elsewhere, and never more than PeriodCapMillis. A jitter of an eighth either way keeps a crowd from polling in step.
//
// In a paused zone the period follows from the place (PausedApartMillis), and is at least SoonMillis. Otherwise those in
// front would poll every 20 s, as everybody does whose wait is a day, and the first 15 s after a resume would be lost.
func (r Rates) FarPeriod(far, estimate, waited, jitter int64) int64 {
	if r.Pace == 0 {
		estimate = max(far*PausedApartMillis, SoonMillis*14/5)
	}
	top, longest := FirstPeriodMillis+max(0, waited)/2, int64(FarPeriodMillis)
	switch {
	case estimate <= NearMillis:
		top = min(top, NearPeriodMillis)
	case far >= FarAway:
		longest = MaxPeriodMillis
	}
	p := min(max(FarPart(estimate), MinPeriodMillis), top, longest)
	return min(p*(896+jitter)/1024, longest, r.PeriodCapMillis)
}

// FarPart is after how much of an expected wait a far visitor polls next, in milliseconds. Even if so many leave that
// the wait takes only 36 % of what was expected, that is in time.
func FarPart(estimate int64) int64 { return max(0, estimate*5/14) }

// GatherPeriod is in how many milliseconds a visitor polls next while people gather: after 5/8 to 8/8 of 20 s, or of
// PeriodCapMillis if that is less. The spread is wide, so that visitors who came in one moment are soon out of step.
func (r Rates) GatherPeriod(jitter int64) int64 {
	return min(r.PeriodCapMillis, FarPeriodMillis) * (640 + jitter*3/2) / 1024
}

// Jitter spreads the polls of visitors who were told the same period. It is 0..255, from the last byte of the visitor's
// id and the time, so that every store gives the same answer.
func Jitter(lastIDByte byte, nowMillis int64) int64 {
	return (int64(lastIDByte) + nowMillis) % 256
}

// Opens is when the j-th next slot (0 for the first) of a span opens, in Unix milliseconds: when the j-th oldest of the
// admissions that now fill the span is older than the span. The span is filled by lost phantoms and logged entries of
// the log (Phantoms.Beside). real(i) is the time of the i-th oldest of those entries; the phantoms are older. Slots
// after all these open evenly, perSpan in every span.
func Opens(j, now, span, perSpan int64, ph Phantoms, lost, logged int64, real func(i int64) int64) int64 {
	switch {
	case j < lost:
		return ph.at(j, now-span) + span + 1
	case j < lost+logged:
		return real(j-lost) + span + 1
	default:
		return now + span + 1 + (j-lost-logged)*span/max(1, perSpan)
	}
}

// Slot is when the slot of a visitor with so many ahead opens by all limits, in Unix milliseconds. opens says when it
// opens by one limit: as Opens does, or at once where there is room.
func (r Rates) Slot(ahead int64, opens func(ahead, span, perSpan int64) int64) int64 {
	at := max(opens(ahead, r.WindowMillis, r.Limit), opens(ahead, MinuteMillis, r.PerMinute))
	if r.PerSecond < r.Limit {
		at = max(at, opens(ahead, SecondMillis, r.PerSecond))
	}
	return at
}

// Enters is when a visitor with so many ahead enters if all of them come, in Unix milliseconds, to within a second or two. slot
// says when the slot of a visitor opens by the log, as Slot does, for up to a window's worth ahead.
//
// Two rules carry a slot of the log on to later visitors. A slot that was taken opens again a window later, or later still
// if the limit of a second or of a minute is the lower one. Slots that open together are taken a second's worth at a time.
// With 600 a minute, a window of 6 s and 13 a second, let 60 slots open now: the visitor with 59 ahead enters after 4 s. The
// visitor with 100 ahead enters after 9 s: the slots open again after 6 s, and 39 others take theirs in 3 s.
//
// Enters tries each number of seconds that the visitor may be behind a slot of the log, at most the window's seconds and one,
// and returns the latest time.
func (r Rates) Enters(ahead int64, slot func(ahead int64) int64) (at int64) {
	step := max(r.PerSecond, (r.Limit*SecondMillis+r.WindowMillis-1)/r.WindowMillis)
	again := max(r.WindowMillis+1, r.Limit*(SecondMillis+1)/r.PerSecond, r.Limit*MinuteMillis/max(1, r.PerMinute))
	for earlier := int64(0); earlier <= min(ahead, r.Limit+step-1); earlier += step {
		from := ahead - earlier
		at = max(at, slot(from%r.Limit)+from/r.Limit*again+earlier*(SecondMillis+1)/r.PerSecond)
	}
	return at
}

// AppointmentPeriod is in how many milliseconds a released visitor polls next whose slot opens in opensIn milliseconds:
// when the slot opens if that is within SoonMillis, else half-way. The more of the others fail to come, the shorter the
// period, since the slot may open long before. Simulated with 90 % leaving, 87 % of capacity is used if all wait for the
// predicted slot, and 98 % so. The least period shrinks with that share, too, to MinAppointmentMillis/2 at least. In a
// paused zone the period is SoonMillis, so that the line goes on soon after a resume.
func (r Rates) AppointmentPeriod(opensIn int64, s Shows) int64 {
	if r.Pace == 0 {
		return min(SoonMillis, r.PeriodCapMillis)
	}
	p := opensIn
	if p > SoonMillis {
		p = max(SoonMillis, p/2)
	}
	p = max(s.Expect(max(p, MinAppointmentMillis), r), MinAppointmentMillis/2)
	return min(p, NearPeriodMillis, r.PeriodCapMillis)
}
