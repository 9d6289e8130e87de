package window

import (
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// MinuteMillis is the span of the limit of the minute.
	MinuteMillis = 60_000
	// SecondMillis is the span of the limit of the second, which holds while there is a line.
	SecondMillis = 1_000
	// GraceMillis is how late a visitor may poll and still count as live: Retry-After is rounded up to whole seconds,
	// so an honest client may be up to one second late.
	GraceMillis = 1_000
	// StepBatch is over how many visitors one call moves the edge at most, and how many late ones it takes off the
	// live, so that no call's work depends on the length of the line (G8).
	StepBatch = 100
	// HealMillis, added to the zone's keepPlaceSeconds, is how long after a loss places are put back: ten times the
	// default idle timeout, for phones that come out of a long tunnel.
	HealMillis = 600_000
	// LostMicros bounds the arrivals that a fail-over loses: those of the last 5 s at most, and usually of one second.
	LostMicros = 5_000_000
	// FreezeMillis is for how long after the loss of a whole line the edge moves no further than Rates.Back allows,
	// and newcomers line up. So visitors near the front are back before others pass them. It is the longest polling
	// period near the front, jitter and grace included.
	FreezeMillis = 24_000
)

// Limit is how many may enter in one window: max(1, ceil(perMinute*window/60 s)).
// perMinute is 0..zone.MaxPerMinute, windowMillis 1000..60000. For perMinute 0
// it is 1, and the limit of the minute holds everybody.
func Limit(perMinute, windowMillis int64) int64 {
	return max(1, (perMinute*windowMillis+MinuteMillis-1)/MinuteMillis)
}

// PerSecond is how many may enter in any 1,000 ms while there is a line, at least 1. For PerSecondAuto it is 1.25 times
// the mean of perMinute, rounded up. So a window that filled at once does not come back as a clump every window, and the
// quarter above the mean makes up for slots that lay idle.
func PerSecond(s zone.Settings) int64 {
	switch s.MaxPerSecond {
	case zone.PerSecondAuto:
		return max(1, (s.PerMinute*5+239)/240)
	case zone.PerSecondNone:
		return zone.MaxMaxPerSecond
	default:
		return int64(s.MaxPerSecond)
	}
}

// Rates are a zone's settings as the rule uses them.
type Rates struct {
	// PerMinute is the most admissions in any 60 s.
	PerMinute int64
	// WindowMillis is the length of the window, Limit the most admissions in it.
	WindowMillis, Limit int64
	// PerSecond is the most admissions in any 1,000 ms while there is a line, never more than Limit.
	PerSecond int64
	// Pace is how many a minute enter from a line: PerMinute, or less if PerSecond lets fewer through, or if fewer leave
	// while as many are inside as may be.
	Pace int64
	// Flow is how many enter from a line in a window: Limit, or less where fewer leave.
	Flow int64
	// Target is how many live visitors are kept released: 2.5 windows' worth, at least 3. With fewer, a window runs
	// dry when some do not come. With more, appointments reach further ahead than they can be kept.
	Target int64
	// Trust is how many appointments Shows are based on: a window's worth, at least 32, so that a small zone does not
	// judge by a handful.
	Trust int64
	// PeriodCapMillis is the longest period ever told: 60 s, or a third of
	// the idle timeout, so that one lost poll costs nobody the place.
	PeriodCapMillis int64
}

// RatesOf computes a zone's rates.
func RatesOf(s zone.Settings) Rates {
	w := s.WindowSeconds * 1000
	l := Limit(s.PerMinute, w)
	second, pace := min(l, PerSecond(s)), s.PerMinute
	if second < l {
		pace = min(pace, second*MinuteMillis/(SecondMillis+1))
	}
	return Rates{
		PerMinute: s.PerMinute, WindowMillis: w, Limit: l, PerSecond: second, Pace: pace, Flow: l,
		Target:          targetOf(l),
		Trust:           max(32, l),
		PeriodCapMillis: min(MaxPeriodMillis, s.IdleTimeoutSeconds*1000/3),
	}
}

func targetOf(flow int64) int64 { return max(3, (5*flow+1)/2) }

// Room is how many may enter now, given the admissions in the last window and
// the last 60 s. It is negative after the limit was lowered or the zone was open.
func (r Rates) Room(inWindow, inMinute int64) int64 {
	return min(r.Limit-inWindow, r.PerMinute-inMinute)
}

// Reach is how many live released visitors from the front on may enter when there is that much room in the window, the
// minute and the second: a visitor with n live ones ahead may enter if n < Reach(room). It is 0 without room. The slack
// beyond the room is a tenth of a window, so that one absence idles no slot. A visitor who is on time is overtaken by no
// more than that slack, apart from overdue visitors who return.
func (r Rates) Reach(room int64) int64 {
	if room <= 0 {
		return 0
	}
	return room + r.Flow/10
}

// Shows tell how many of the live released keep their appointments: of those whose turn came lately, Kept were there and
// Missed were not. They keep capacity used when most of a crowd walks away: a visitor who has left looks live until the
// next poll is missed.
type Shows struct{ Kept, Missed int64 }

// Keep counts a visitor who was admitted from among the live released.
func (s Shows) Keep(r Rates) Shows { s.Kept++; return s.age(r) }

// Miss counts a visitor who missed the appointment.
func (s Shows) Miss(r Rates) Shows { s.Missed++; return s.age(r) }

// Return takes back the miss of a visitor who was only late.
func (s Shows) Return() Shows { s.Missed = max(0, s.Missed-1); return s }

// age halves the counts when together they reach twice Trust.
func (s Shows) age(r Rates) Shows {
	if s.Kept+s.Missed >= 2*r.Trust {
		s.Kept, s.Missed = s.Kept/2, s.Missed/2
	}
	return s
}

// Expect is how many of n live released will come. Without experience it is n: the counts begin as if half of Trust had
// been kept, since some may miss before anybody can be kept.
func (s Shows) Expect(n int64, r Rates) int64 {
	all, of := s.Share(n, r)
	return all / of
}

// Coming is the share of the live released that is expected to come, 0 to 1.
func (s Shows) Coming(r Rates) float64 {
	all, of := s.Share(1, r)
	return float64(all) / float64(of)
}

// Share returns the two numbers of which Expect is the quotient.
func (s Shows) Share(n int64, r Rates) (all, of int64) {
	return n * (s.Kept + r.Trust/2), s.Kept + s.Missed + r.Trust/2
}

// Back is how many visitors from the front of a lost line must have polled by sinceMillis after the loss, whatever they
// had been told. A visitor whose slot was w away was told to come after w at most, or after w/2 where w/2 is more than
// SoonMillis (AppointmentPeriod, FarPeriod), and has GraceMillis more. A slot is at most one window further away than
// the time that the visitors ahead take to enter.
func (r Rates) Back(sinceMillis int64) int64 {
	wait := sinceMillis - GraceMillis
	if wait >= SoonMillis {
		wait *= 2
	}
	return max(0, wait-r.WindowMillis) * r.Pace / MinuteMillis
}

// Phantoms stand for the admissions that a store may have made and lost. They are the latest that the limits allowed:
// Limit at the moment of the loss, Limit a window and a millisecond earlier, and so on up to PerMinute. Whatever the
// lost log held, no interval that ends after the loss holds more lost admissions than phantoms. So counting them keeps
// both limits exact. They expire a window's worth at a time, so that without a burst full speed resumes one window after
// the loss.
type Phantoms struct {
	// AtMillis is when the loss was noticed; 0 for none.
	AtMillis int64 `json:"atMillis"`
	// WindowMillis and PerMinute are the rates at that time. Limit is the most that a window could hold, burst included.
	WindowMillis int64 `json:"windowMillis"`
	Limit        int64 `json:"limit"`
	PerMinute    int64 `json:"perMinute"`
}

// Since counts the phantoms at or after t, in milliseconds.
func (p Phantoms) Since(t int64) int64 {
	if p.AtMillis < t || p.AtMillis == 0 {
		return 0
	}
	return min(p.PerMinute, ((p.AtMillis-t)/p.apart()+1)*p.Limit)
}

// Beside returns how many phantoms count at or after t, and how many of the latest entries of the log. The log holds all
// entries at or after t, after of them since the loss. Phantoms stand for everything up to the loss, so the entries from
// before it do not count besides. But if those entries are more than the phantoms, as in a zone that was open, they
// count and no phantoms do.
func (p Phantoms) Beside(t, all, after int64) (phantoms, logged int64) {
	if n := p.Since(t); n > all-after {
		return n, after
	}
	return 0, all
}

// Remains returns the phantoms that stand for the log of a deleted zone, should the zone be made anew within the minute.
// The newest admission was at the time newest (0 for none). inWindow admissions were in the window that ended then, and
// inMinute in that minute. Both may be more than the limits allow: the limits may have been higher, or the zone open.
func (r Rates) Remains(burst, newest, inWindow, inMinute int64) Phantoms {
	return Phantoms{
		AtMillis: newest, WindowMillis: r.WindowMillis,
		Limit: max(r.Limit+burst, inWindow), PerMinute: max(r.PerMinute, inMinute),
	}
}

// at is the time of the i-th oldest phantom of those at or after t. It may be off by one window where PerMinute cuts the
// oldest batch short. It is used for appointments only.
func (p Phantoms) at(i, t int64) int64 {
	oldest := (p.AtMillis - t) / p.apart()
	return p.AtMillis - max(0, oldest-i/p.Limit)*p.apart()
}

// apart is the time between two batches: the shortest with which no closed interval of a window's length holds two.
func (p Phantoms) apart() int64 { return p.WindowMillis + 1 }

// Clock is a zone's time, in Unix microseconds. It never runs backwards. When the store's clock is set back (or a replica
// whose clock is behind takes over), the zone's clock goes on from where it was, and runs a tenth slower until the two
// agree, as NTP slews. A slow clock can only make the limits stricter.
type Clock struct {
	// RawMicros is what the store's clock last said.
	RawMicros int64 `json:"rawMicros"`
	// NowMicros is the zone's time; never less than RawMicros.
	NowMicros int64 `json:"nowMicros"`
	// SetMicros is the zone's time when the store's clock was last set back; 0 if it never was. AheadMicros is by how
	// much the zone's clock was ahead of the store's at that time.
	SetMicros   int64 `json:"setMicros,omitempty"`
	AheadMicros int64 `json:"aheadMicros,omitempty"`
}

// Tick moves the clock on to a new reading of the store's clock.
func (c Clock) Tick(raw int64) Clock {
	if c.NowMicros == 0 {
		return Clock{RawMicros: raw, NowMicros: raw}
	}
	c.RawMicros = min(c.RawMicros, raw)
	if c.NowMicros > c.at(c.RawMicros) {
		// The store's clock was set back.
		c.SetMicros, c.AheadMicros = c.NowMicros, c.NowMicros-c.RawMicros
	}
	c.RawMicros, c.NowMicros = raw, max(c.NowMicros, c.at(raw))
	return c
}

// at is the zone's time when the store's clock says raw.
func (c Clock) at(raw int64) int64 {
	since := raw - (c.SetMicros - c.AheadMicros)
	return c.SetMicros + since - min(c.AheadMicros, max(0, since)/10)
}

// AheadMillis is by how many milliseconds, rounded up, the zone's clock was ahead of the store's when the zone's clock
// said atMillis. It depends only on atMillis and on when the clock was last set back, so the result for a moment stays
// the same until the clock is set back anew. A moment before that is taken to have been ahead by AheadMicros.
func (c Clock) AheadMillis(atMillis int64) int64 {
	// Of ten microseconds of the store's clock, the zone's clock goes on by nine. At the ninth, it stands for two.
	ahead := c.AheadMicros - max(0, atMillis*1000-c.SetMicros-1)/9
	return max(0, ahead+999) / 1000
}

// Silent reports whether a visitor who was told to poll again at dueMillis had been missing for longer than the idle
// timeout and the time for which a place is set aside at stoodMillis, until when the line is known to have stood. Such a
// visitor may have no place any more. Both times are Unix milliseconds of the zone's clock.
func Silent(dueMillis, stoodMillis int64, s zone.Settings) bool {
	return dueMillis+1000*(s.IdleTimeoutSeconds+s.KeepPlaceSeconds) < stoodMillis
}

// HealsFor is how long after a loss places are put back, in milliseconds.
func HealsFor(s zone.Settings) int64 { return HealMillis + 1000*s.KeepPlaceSeconds }

// DepartureMatters is for how long a departure has to be remembered, whose pass is not good: as long as a token of the
// place may pass for fresh for a server that last heard of the line ago before.
func DepartureMatters(s zone.Settings, ago time.Duration) time.Duration {
	return s.IdleTimeout() + s.KeepPlace() + MaxPeriodMillis*time.Millisecond + ago
}

// MostSkipped bounds Between.
const MostSkipped = 10

// Between is how many visitors beyond the edge stand between two who came back overdue, 1 to MostSkipped: so many that one of
// them is there, as far as those tell whom the edge reached lately. present of passed were there.
func Between(passed, present int64) int64 {
	if passed == 0 {
		return 1
	}
	return min(MostSkipped, (passed+max(1, present)-1)/max(1, present))
}

// Epoch is the epoch of a zone's data that begin at nowMicros, in Unix microseconds: the Unix second, at least 1. 32 bits
// last until the year 2106.
func Epoch(nowMicros int64) uint32 { return uint32(max(1, nowMicros/1_000_000)) }
