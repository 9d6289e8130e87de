package window

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/zone"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		perMinute, windowMillis, want int64
	}{
		{0, 6_000, 1}, // the minute's limit holds everybody
		{1, 6_000, 1},
		{5, 6_000, 1},
		{10, 6_000, 1},
		{11, 6_000, 2}, // 1.1, rounded up
		{20, 6_000, 2},
		{600, 6_000, 60},
		{600_000, 6_000, 60_000},
		{600_000, 1_000, 10_000},
		{5, 60_000, 5},
		{7, 1_000, 1},
		{61, 1_000, 2},
		{zone.MaxPerMinute, 60_000, zone.MaxPerMinute},
	}
	for _, tt := range tests {
		if got := Limit(tt.perMinute, tt.windowMillis); got != tt.want {
			t.Errorf("%d a minute, a window of %d ms: %d, want %d", tt.perMinute, tt.windowMillis, got, tt.want)
		}
	}
}

func TestRatesOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*zone.Settings)
		want Rates
	}{
		"default": {func(*zone.Settings) {}, Rates{
			PerMinute: 600, WindowMillis: 6_000, Limit: 60, PerSecond: 13, Pace: 600, Target: 150, Trust: 60, PeriodCapMillis: 20_000,
		}},
		"small": {func(s *zone.Settings) { s.PerMinute = 5 }, Rates{
			PerMinute: 5, WindowMillis: 6_000, Limit: 1, PerSecond: 1, Pace: 5, Target: 3, Trust: 32, PeriodCapMillis: 20_000,
		}},
		"a second's worth, rounded up": {func(s *zone.Settings) { s.PerMinute = 49 }, Rates{
			PerMinute: 49, WindowMillis: 6_000, Limit: 5, PerSecond: 2, Pace: 49, Target: 13, Trust: 32, PeriodCapMillis: 20_000,
		}},
		"odd": {func(s *zone.Settings) { s.PerMinute = 30 }, Rates{
			PerMinute: 30, WindowMillis: 6_000, Limit: 3, PerSecond: 1, Pace: 30, Target: 8, Trust: 32, PeriodCapMillis: 20_000,
		}},
		"huge, with a long window": {func(s *zone.Settings) { s.PerMinute, s.WindowSeconds = 600_000, 60 }, Rates{
			PerMinute: 600_000, WindowMillis: 60_000, Limit: 600_000, PerSecond: 12_500, Pace: 600_000, Target: 1_500_000, Trust: 600_000, PeriodCapMillis: 20_000,
		}},
		"uneven": {func(s *zone.Settings) { s.MaxPerSecond = zone.PerSecondNone }, Rates{
			PerMinute: 600, WindowMillis: 6_000, Limit: 60, PerSecond: 60, Pace: 600, Target: 150, Trust: 60, PeriodCapMillis: 20_000,
		}},
		"slower than the limit": {func(s *zone.Settings) { s.MaxPerSecond = 5 }, Rates{
			PerMinute: 600, WindowMillis: 6_000, Limit: 60, PerSecond: 5, Pace: 299, Target: 150, Trust: 60, PeriodCapMillis: 20_000,
		}},
		"a window of a second is even": {func(s *zone.Settings) { s.WindowSeconds = 1 }, Rates{
			PerMinute: 600, WindowMillis: 1_000, Limit: 10, PerSecond: 10, Pace: 600, Target: 25, Trust: 32, PeriodCapMillis: 20_000,
		}},
		"impatient": {func(s *zone.Settings) { s.IdleTimeoutSeconds = 5 }, Rates{
			PerMinute: 600, WindowMillis: 6_000, Limit: 60, PerSecond: 13, Pace: 600, Target: 150, Trust: 60, PeriodCapMillis: 1_666,
		}},
		"patient": {func(s *zone.Settings) { s.IdleTimeoutSeconds = 3_600 }, Rates{
			PerMinute: 600, WindowMillis: 6_000, Limit: 60, PerSecond: 13, Pace: 600, Target: 150, Trust: 60, PeriodCapMillis: 60_000,
		}},
	}
	for name, tt := range tests {
		s := zone.Defaults("z")
		tt.edit(&s)
		tt.want.Flow = tt.want.Limit
		if got := RatesOf(s); got != tt.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, tt.want)
		}
	}
}

// rates are those of the limit, with the default settings otherwise.
func rates(perMinute int64) Rates {
	s := zone.Defaults("z")
	s.PerMinute = perMinute
	return RatesOf(s)
}

func TestRoomAndReach(t *testing.T) {
	t.Parallel()
	tests := []struct {
		perMinute, inWindow, inMinute int64
		room, reach                   int64
	}{
		{600, 0, 0, 60, 66},
		{600, 59, 59, 1, 7},
		{600, 60, 60, 0, 0},
		{600, 70, 70, -10, 0},
		{600, 10, 595, 5, 11},
		{600, 0, 600, 0, 0},
		{600, 0, 700, -100, 0},
		{10, 0, 0, 1, 1},
		{10, 0, 10, 0, 0},
		{0, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		r := rates(tt.perMinute)
		room := r.Room(tt.inWindow, tt.inMinute)
		if reach := r.Reach(room); room != tt.room || reach != tt.reach {
			t.Errorf("%d a minute, %d in the window, %d in the minute: room %d, reach %d; want %d, %d",
				tt.perMinute, tt.inWindow, tt.inMinute, room, reach, tt.room, tt.reach)
		}
	}
}

func TestShows(t *testing.T) {
	t.Parallel()
	r := rates(600) // a window's worth is 60
	var s Shows
	if got := s.Expect(150, r); got != 150 {
		t.Errorf("at first %d of 150 are expected, want all", got)
	}
	for range 30 {
		s = s.Miss(r)
	}
	// 30 trusted to begin with, of 60.
	if got := s.Expect(150, r); got != 75 {
		t.Errorf("after 30 missed, %d of 150, want 75", got)
	}
	for range 30 {
		s = s.Return()
	}
	if s != (Shows{}) || s.Return() != (Shows{}) {
		t.Errorf("after all returned: %+v", s)
	}
	for range 60 {
		s = s.Keep(r)
	}
	if got := s.Miss(r).Expect(910, r); got != 900 {
		t.Errorf("after 60 kept and one missed, %d of 910, want 900", got)
	}
	for range 60 {
		s = s.Miss(r)
	}
	if want := (Shows{Kept: 30, Missed: 30}); s != want {
		t.Errorf("two windows' worth age to %+v, want %+v", s, want)
	}
	if got := (Shows{Missed: 1_000_000}).Expect(10, rates(5)); got != 0 {
		t.Errorf("%d are expected of those who never come", got)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	type reading struct{ raw, now int64 }
	tests := map[string][]reading{
		"goes by the store's":                      {{1_000, 1_000}, {1_000, 1_000}, {5_000, 5_000}},
		"stands still when that is set back":       {{10_000, 10_000}, {4_000, 10_000}, {4_000, 10_000}, {3_000, 10_000}},
		"then runs a tenth slower":                 {{10_000, 10_000}, {9_000, 10_000}, {10_000, 10_900}, {11_000, 11_800}},
		"until both agree":                         {{10_000, 10_000}, {9_900, 10_000}, {10_900, 10_900}, {11_000, 11_000}},
		"and never falls behind":                   {{10_000, 10_000}, {9_990, 10_000}, {19_990, 19_990}, {20_000, 20_000}},
		"is not slowed by readings close together": {{10_000, 10_000}, {9_000, 10_000}, {9_009, 10_009}, {9_019, 10_018}},
	}
	for name, readings := range tests {
		var c Clock
		for i, r := range readings {
			if c = c.Tick(r.raw); c.RawMicros != r.raw || c.NowMicros != r.now {
				t.Errorf("%s: reading %d: %+v, want %+v", name, i, c, r)
			}
		}
	}
}

// TestAheadIsTheSameWheneverAsked: how far the zone's clock was ahead at a moment does
// not depend on when that is asked; it says the store's clock at that moment to the
// millisecond, and never a later one.
func TestAheadIsTheSameWheneverAsked(t *testing.T) {
	t.Parallel()
	for back := range int64(1_000) {
		c := Clock{}.Tick(1_795_223_373_123_456)
		for c = c.Tick(c.RawMicros - 20_000 - back); c.NowMicros < c.SetMicros+9_000; c = c.Tick(c.RawMicros + 1) {
			if at := c.NowMicros / 1000; (at-c.AheadMillis(at))*1000 > c.RawMicros {
				t.Fatalf("set back by %d us: it says %d ms of %d, the store's clock said %d us", 20_000+back, c.AheadMillis(at), at, c.RawMicros)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.Int64Range(1, 10_000_000)
		c := Clock{}.Tick(1_795_223_373_123_456 + step.Draw(t, "begins"))
		c = c.Tick(c.RawMicros - rapid.Int64Range(0, 3_600_000_000).Draw(t, "set back"))
		type moment struct{ raw, at, ahead int64 }
		var seen []moment
		for range rapid.IntRange(1, 50).Draw(t, "readings") {
			c = c.Tick(c.RawMicros + step.Draw(t, "step")*rapid.SampledFrom([]int64{1, 1, 1_000}).Draw(t, "times"))
			at := c.NowMicros / 1000
			seen = append(seen, moment{c.RawMicros, at, c.AheadMillis(at)})
		}
		for _, m := range seen {
			if now := c.AheadMillis(m.at); now != m.ahead {
				t.Fatalf("at %d it was %d ms ahead, later it is %d", m.at, m.ahead, now)
			}
			if said := (m.at - m.ahead) * 1000; said > m.raw || said < m.raw-3_000 {
				t.Fatalf("it says %d us, the store's clock said %d", said, m.raw)
			}
		}
	})
}

func TestBack(t *testing.T) {
	t.Parallel()
	tests := []struct{ perMinute, window, since, want int64 }{
		{600, 6_000, 0, 0},
		{600, 6_000, 4_999, 0},    // the first may have been told to come in 4 s
		{600, 6_000, 5_000, 20},   // who had 8 s to wait is back, too
		{600, 6_000, 11_000, 140}, // and who had 20 s
		{600, 1_000, 1_999, 0},
		{600, 1_000, 3_000, 10},
		{600, 1_000, 5_000, 70},
		{600, 60_000, 24_000, 0},
		{0, 6_000, 24_000, 0},
	}
	for _, tt := range tests {
		r := Rates{Pace: tt.perMinute, WindowMillis: tt.window}
		if got := r.Back(tt.since); got != tt.want {
			t.Errorf("%d a minute, a window of %d ms, after %d ms: %d, want %d", tt.perMinute, tt.window, tt.since, got, tt.want)
		}
	}
}
