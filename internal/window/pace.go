package window

const (
	// MaxEstimateMillis is the longest wait ever told: a day. A zone that
	// admits nobody tells it to everyone.
	MaxEstimateMillis = 86_400_000
	// MinPeriodMillis is the shortest period told to one beyond the edge.
	MinPeriodMillis = 1_000
	// FirstPeriodMillis is the longest told to a newcomer.
	FirstPeriodMillis = 4_000
	// NearPeriodMillis is the longest told to one whose wait is within
	// NearMillis, FarPeriodMillis to others, and MaxPeriodMillis to one who has FarAway or more
	// ahead beyond the edge: at 600,000 a minute they take 20 s.
	NearPeriodMillis = 10_000
	NearMillis       = 35_000
	FarPeriodMillis  = 20_000
	MaxPeriodMillis  = 60_000
	FarAway          = 200_000
	// SoonMillis is how far ahead an appointment is taken at its word.
	SoonMillis = 4_000
	// MinAppointmentMillis keeps a released visitor from polling in a tight
	// loop: at 250 ms a slot idles for an eighth of a second on average.
	MinAppointmentMillis = 250
)

// Estimate is the expected wait in milliseconds of one who has live released
// visitors and then far ones ahead, given the room now. Of the far ones, only
// the share that the edge lately found there will take a slot: edgeLive of
// edgePassed. At most MaxEstimateMillis.
func (r Rates) Estimate(live, far, room, edgeLive, edgePassed int64) int64 {
	if r.Pace == 0 {
		return MaxEstimateMillis
	}
	if edgePassed > 0 {
		far = far * edgeLive / edgePassed
	}
	return min(MaxEstimateMillis, max(0, live+far+1-room)*MinuteMillis/r.Pace)
}

// FarPeriod is when one beyond the edge polls next who has so many ahead there: after 5/14 of the
// expected wait, at least 1 s. At most 4 s and half of what the visitor has
// waited already, for most who leave do so early, and are only missed when
// they fail to poll; 10 s near the front; 20 s elsewhere, but 60 s far away. Never more than a third of
// the idle timeout. A jitter of an eighth either way keeps a crowd from polling in step.
func (r Rates) FarPeriod(far, estimate, waited, jitter int64) int64 {
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

// FarPart is after how much of an expected wait one polls next: should so many leave that
// the wait takes a third of that, it is still in time.
func FarPart(estimate int64) int64 { return max(0, estimate*5/14) }

// GatherPeriod is when one polls next while people gather: after 12.5 to 20 s, or as much of
// the longest period of the zone. The spread is wide, so that those who came in one moment
// are soon not in step.
func (r Rates) GatherPeriod(jitter int64) int64 {
	return min(r.PeriodCapMillis, FarPeriodMillis) * (640 + jitter*3/2) / 1024
}

// Jitter spreads the polls of visitors who were told the same period: 0..255,
// from the last byte of the visitor's id and the time, so that the same
// question has the same answer in every store.
func Jitter(lastIDByte byte, nowMillis int64) int64 {
	return (int64(lastIDByte) + nowMillis) % 256
}

// Opens is when the j-th next slot (0 for the first) of a span opens, in Unix
// milliseconds: when the j-th oldest of the admissions that now fill it is
// older than the span. So many lost and logged ones fill it (Phantoms.Beside):
// real(i) is the time of the i-th oldest of the logged ones; phantoms are older
// than those. Past the last, slots open evenly, perSpan in every span.
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

// Slot is when the slot of one with so many ahead opens by all limits, in Unix
// milliseconds; opens says when it does by one of them, as Opens, and at once where
// there is room.
func (r Rates) Slot(ahead int64, opens func(ahead, span, perSpan int64) int64) int64 {
	at := max(opens(ahead, r.WindowMillis, r.Limit), opens(ahead, MinuteMillis, r.PerMinute))
	if r.PerSecond < r.Limit {
		at = max(at, opens(ahead, SecondMillis, r.PerSecond))
	}
	return at
}

// AppointmentPeriod is when a released visitor polls next whose slot opens in
// that many milliseconds: then, if it is soon; half-way, if later, and the
// earlier the more of the others fail to come, for then the slot may open long
// before. Simulated with 90 % leaving: 87 % of capacity used when all wait for
// the slot as predicted, 98 % so. The least period shrinks with them, to a
// half at least: where slots open one by one, each waits for somebody to come.
func (r Rates) AppointmentPeriod(opensIn int64, s Shows) int64 {
	p := opensIn
	if p > SoonMillis {
		p = max(SoonMillis, p/2)
	}
	p = max(s.Expect(max(p, MinAppointmentMillis), r), MinAppointmentMillis/2)
	return min(p, NearPeriodMillis, r.PeriodCapMillis)
}
