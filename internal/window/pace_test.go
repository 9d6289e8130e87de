package window

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/zone"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		perMinute                             int64
		live, far, room, edgeLive, edgePassed int64
		want                                  int64
	}{
		"the next, and there is room":          {600, 0, 0, 1, 0, 0, 0},
		"the next, and there is none":          {600, 0, 0, 0, 0, 0, 100},
		"behind ten":                           {600, 10, 0, 0, 0, 0, 1_100},
		"behind ten and ninety":                {600, 10, 90, 0, 0, 0, 10_100},
		"of whom a third has gone":             {600, 10, 90, 0, 20, 30, 7_100},
		"all of whom have gone":                {600, 10, 90, 0, 0, 30, 1_100},
		"with room for more than there are":    {600, 10, 0, 60, 0, 0, 0},
		"when too many are in":                 {600, 0, 0, -50, 0, 0, 5_100},
		"one a minute":                         {1, 2, 0, 0, 0, 0, 180_000},
		"longer than a day":                    {1, 0, 5_000, 0, 0, 0, MaxEstimateMillis},
		"when nobody is let in":                {0, 0, 0, 0, 0, 0, MaxEstimateMillis},
		"behind the longest line there can be": {6_000_000, 0, 100_000_000, 0, 0, 0, 1_000_000},
	}
	for name, tt := range tests {
		got := rates(tt.perMinute).Estimate(tt.live, tt.far, tt.room, tt.edgeLive, tt.edgePassed)
		if got != tt.want {
			t.Errorf("%s: %d ms, want %d", name, got, tt.want)
		}
	}
}

func TestFarPeriod(t *testing.T) {
	t.Parallel()
	// A jitter of 128 is none: 896/1024 to 1151/1024.
	const none = 128
	tests := map[string]struct {
		far, estimate, waited, jitter int64
		want                          int64
	}{
		"short":                       {0, 500, 0, none, 1_000},
		"5/14 of the wait":            {0, 8_400, 0, none, 3_000},
		"a newcomer":                  {0, 600_000, 0, none, 4_000},
		"one from before the clock":   {0, 600_000, -5_000, none, 4_000},
		"one who waited for a while":  {0, 600_000, 10_000, none, 9_000},
		"one who waited long":         {0, 600_000, 600_000, none, 20_000},
		"the last of those near":      {0, 35_000, 600_000, none, 10_000},
		"the first of those far":      {0, 35_001, 600_000, none, 12_500},
		"the earliest":                {0, 8_400, 0, 0, 2_625},
		"the latest":                  {0, 8_400, 0, 255, 3_372},
		"never above the cap, though": {0, 600_000, 600_000, 255, 20_000},
		"the last of the others":      {FarAway - 1, 600_000, 600_000, none, 20_000},
		"the first far away":          {FarAway, 600_000, 600_000, none, 60_000},
		"a newcomer far away":         {FarAway, 600_000, 10_000, none, 9_000},
		"one far away, but soon in":   {FarAway, 35_000, 600_000, none, 10_000},
	}
	patient := rates(600)
	patient.PeriodCapMillis = 60_000
	for name, tt := range tests {
		if got := patient.FarPeriod(tt.far, tt.estimate, tt.waited, tt.jitter); got != tt.want {
			t.Errorf("%s: %d ms, want %d", name, got, tt.want)
		}
	}
	paused := rates(0)
	for far, want := range map[int64]int64{0: 4_000, 448: 4_000, 1_120: 10_000, 1_600: 14_285, 2_240: 20_000, 50_000: 20_000} {
		if got := paused.FarPeriod(far, MaxEstimateMillis, 600_000, none); got != want {
			t.Errorf("while the zone is paused, with %d ahead: %d ms, want %d", far, got, want)
		}
	}
	impatient := rates(600)
	impatient.PeriodCapMillis = 1_666
	if got := impatient.FarPeriod(FarAway, 600_000, 600_000, none); got != 1_666 {
		t.Errorf("under an idle timeout of 5 s: %d ms, want a third of it", got)
	}
}

// TestOpensEvenly: slots after all that are taken open evenly.
func TestOpensEvenly(t *testing.T) {
	t.Parallel()
	log := []int64{95_000, 95_000, 97_000}
	for j, want := range map[int64]int64{3: 106_001, 5: 112_001} {
		if got := Opens(j, 100_000, 6_000, 2, Phantoms{}, 0, 3, func(i int64) int64 { return log[i] }); got != want {
			t.Errorf("slot %d: %d, want %d", j, got, want)
		}
	}
}

// TestOpensIsWhenThereIsRoom: at the told millisecond so many slots are open, and
// one millisecond before they are not; whatever is in the log, or was lost with
// it. (A limit of the minute that cuts a window short is left out: see at.)
func TestOpensIsWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now, span = 1_000_000, MinuteMillis
		p := Phantoms{WindowMillis: rapid.Int64Range(1, 60).Draw(t, "window") * 1_000}
		p.Limit = rapid.Int64Range(1, 4).Draw(t, "limit")
		p.PerMinute = p.Limit * 61
		if rapid.Bool().Draw(t, "a loss") {
			p.AtMillis = now - rapid.Int64Range(0, MinuteMillis).Draw(t, "ago")
		}
		log := rapid.SliceOfN(rapid.Int64Range(max(p.AtMillis, now-span), now), 0, 20).Draw(t, "log")
		slices.Sort(log)
		fill := func(at int64) int64 { return p.Since(at-span) + since(log, at-span) }
		lost := p.Since(now - span)
		if fill(now) == 0 {
			t.Skip("the window is empty")
		}
		j := rapid.Int64Range(0, fill(now)-1).Draw(t, "j")
		at := Opens(j, now, span, 1, p, lost, int64(len(log)), func(i int64) int64 { return log[i] })
		if got, most := fill(at), fill(now)-j-1; got > most {
			t.Fatalf("slot %d at %d: %d are left of %d, want at most %d", j, at, got, fill(now), most)
		}
		if got, most := fill(at-1), fill(now)-j-1; got <= most {
			t.Fatalf("slot %d is open before %d: %d are left of %d", j, at, got, fill(now))
		}
	})
}

// TestSlot: of a window that filled at once, the slots are said to open as the second
// lets them be taken.
func TestSlot(t *testing.T) {
	t.Parallel()
	r := rates(600) // 13 a second
	// The window was full from 0 on, and 13 of the last second are in.
	opens := func(ahead, span, perSpan int64) int64 {
		filled := map[int64]int64{r.WindowMillis: 10, MinuteMillis: 70, SecondMillis: 13}[span]
		j := ahead - (perSpan - filled)
		if j < 0 {
			return 6_500
		}
		return Opens(j, 6_500, span, perSpan, Phantoms{}, 0, filled, func(i int64) int64 { return 6_001 + i })
	}
	for ahead, want := range map[int64]int64{0: 7_002, 12: 7_014, 13: 7_501, 26: 8_501, 52: 12_004} {
		if got := r.Slot(ahead, opens); got != want {
			t.Errorf("%d ahead: at %d, want %d", ahead, got, want)
		}
	}
	r.PerSecond = r.Limit
	if got := r.Slot(0, opens); got != 6_500 {
		t.Errorf("without a limit of the second: at %d, want at once", got)
	}
}

// TestEntersIsWhenTheLimitsLetIn: it is when a visitor enters, to a second, if each who is ahead enters as soon as the
// limits of the window and of the second allow it, whatever was admitted before.
func TestEntersIsWhenTheLimitsLetIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now = 1_000_000
		s := zone.Defaults("A")
		s.WindowSeconds = rapid.Int64Range(2, 12).Draw(t, "window")
		mean := rapid.Int64Range(1, 20).Draw(t, "a second's mean")
		s.PerMinute = 60 * mean
		number := zone.PerSecond(rapid.Int64Range(max(1, mean-9), mean+9).Draw(t, "a second's number"))
		s.MaxPerSecond = rapid.SampledFrom([]zone.PerSecond{zone.PerSecondAuto, zone.PerSecondNone, number}).Draw(t, "a second's most")
		r := RatesOf(s)
		ends := now - rapid.Int64Range(0, r.WindowMillis).Draw(t, "ago")
		log := []int64{}
		admitted := rapid.Int64Range(0, r.Limit).Draw(t, "admitted")
		for at := ends; int64(len(log)) < admitted; at -= rapid.Int64Range(0, 200).Draw(t, "gap") {
			log = append(log, at)
		}
		slices.Sort(log)
		looks := int64(0)
		slot := func(ahead int64) int64 {
			looks++
			return r.Slot(ahead, func(ahead, span, perSpan int64) int64 {
				logged := since(log, now-span)
				j := ahead - (perSpan - logged)
				if j < 0 {
					return now
				}
				return Opens(j, now, span, perSpan, Phantoms{}, 0, logged, func(i int64) int64 { return log[int64(len(log))-logged+i] })
			})
		}
		all, last := slices.Clone(log), int64(now)
		most := rapid.Int64Range(0, 5*r.Limit/2).Draw(t, "ahead")
		for range most + 1 {
			for _, limit := range []struct{ most, span int64 }{{r.Limit, r.WindowMillis}, {r.PerSecond, SecondMillis}} {
				if n := int64(len(all)); n >= limit.most {
					last = max(last, all[n-limit.most]+limit.span+1)
				}
			}
			all = append(all, last)
		}
		early := int64(10)
		if r.PerSecond < mean {
			early += mean * (SecondMillis + 1) / r.PerSecond
		}
		if got := r.Enters(most, slot); got < last-early || got > last+SecondMillis || looks > s.WindowSeconds+2 {
			t.Fatalf("%d ahead: at %d by %d slots, want %d, of %d in %d ms and %d a second after %v", most, r.Enters(most, slot), looks, last, r.Limit, r.WindowMillis, r.PerSecond, log)
		}
	})
}

// TestEntersByTheLimitOfASecond: where that admits much less than the window's, a few looks are enough, however large the zone.
func TestEntersByTheLimitOfASecond(t *testing.T) {
	t.Parallel()
	s := zone.Defaults("A")
	s.PerMinute, s.MaxPerSecond = 100_000, 10
	looks := 0
	got := RatesOf(s).Enters(25_000, func(ahead int64) int64 { looks++; return ahead * (SecondMillis + 1) / 10 })
	if want := int64(2_500 * (SecondMillis + 1)); got != want || looks > 8 {
		t.Errorf("at %d by %d slots, want %d", got, looks, want)
	}
}

// TestEntersByTheLimitOfAMinute: of a zone whose window holds one, though less than one may enter in it.
func TestEntersByTheLimitOfAMinute(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int64{1, 6, 10} {
		s := zone.Defaults("A")
		s.PerMinute, s.WindowSeconds = 1, seconds
		if got := RatesOf(s).Enters(3, func(int64) int64 { return 0 }); got != 3*MinuteMillis {
			t.Errorf("in a window of %d s: after %d ms", seconds, got)
		}
	}
}

func TestAppointmentPeriod(t *testing.T) {
	t.Parallel()
	all, half := Shows{}, Shows{Missed: 30}
	tests := map[string]struct {
		opensIn int64
		shows   Shows
		want    int64
	}{
		"now":                                {0, all, 250},
		"very soon":                          {100, all, 250},
		"soon":                               {3_000, all, 3_000},
		"at the end of soon":                 {4_000, all, 4_000},
		"a little later":                     {5_000, all, 4_000},
		"half-way":                           {12_000, all, 6_000},
		"never far ahead":                    {60_000, all, NearPeriodMillis},
		"earlier when half do not come":      {12_000, half, 3_000},
		"soon, when half do not come":        {3_000, half, 1_500},
		"in a day, when half do not come":    {MaxEstimateMillis, half, NearPeriodMillis},
		"very soon, when half do not come":   {200, half, 125},
		"a little later, when half stay out": {5_000, half, 2_000},
	}
	for name, tt := range tests {
		if got := rates(600).AppointmentPeriod(tt.opensIn, tt.shows); got != tt.want {
			t.Errorf("%s: %d ms, want %d", name, got, tt.want)
		}
	}
	impatient := rates(600)
	impatient.PeriodCapMillis = 1_666
	if got := impatient.AppointmentPeriod(60_000, all); got != 1_666 {
		t.Errorf("under an idle timeout of 5 s: %d ms, want a third of it", got)
	}
	if got := rates(0).AppointmentPeriod(MaxEstimateMillis, half); got != SoonMillis {
		t.Errorf("while the zone is paused: %d ms, want %d", got, SoonMillis)
	}
}
