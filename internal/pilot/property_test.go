package pilot_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestSteps: whatever was seen, a step ends within the bounds, falls to 70 % of those inside or of the cap at the lowest unless the site
// fails, rises by a tenth at most, and only with a minute's looks, the cap in use and no breach; without looks there is none.
func TestSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := zone.Settings{
			PilotMin: rapid.Int64Range(1, 1_000).Draw(t, "min"), PilotP95Millis: rapid.Int64Range(1, 60_000).Draw(t, "p95"),
			PilotErrorPercent: rapid.Int64Range(0, 100).Draw(t, "errors"),
		}
		b.PilotMax = b.PilotMin + rapid.Int64Range(0, 10_000).Draw(t, "max")
		limit := rapid.Int64Range(0, 12_000).Draw(t, "limit")
		last := pilot.Step{Ceiling: rapid.SampledFrom([]int64{0, 1, limit, 2 * limit}).Draw(t, "ceiling")}
		since := rapid.Int64Range(0, 120_000).Draw(t, "since")
		var looks []pilot.Sight
		at := int64(100_000)
		for range rapid.IntRange(0, 7).Draw(t, "looks") {
			at += rapid.SampledFrom([]int64{10_000, 10_000, 10_000, 40_000}).Draw(t, "after")
			looks = append(looks, pilot.Sight{
				AtMillis: at, P95Millis: rapid.Float64Range(0, 100_000).Draw(t, "took"), ErrorPercent: rapid.Float64Range(0, 100).Draw(t, "failed"),
				Inside: rapid.Int64Range(0, 12_000).Draw(t, "inside"),
			})
		}
		step, ok := pilot.Decide(&b, last, limit, looks, since, at)
		if again, okAgain := pilot.Decide(&b, last, limit, looks, since, at); again != step || ok != okAgain {
			t.Fatal("the same looks led to something else")
		}
		if !ok {
			return
		}
		bad, from := 0, int64(-1)
		for _, s := range looks {
			if s.AtMillis-10_000 < since {
				continue
			}
			if from < 0 {
				from = s.AtMillis - 10_000
			}
			if breach(&b, s) {
				bad++
			}
		}
		n := len(looks)
		switch {
		case step.To < b.PilotMin, step.To > b.PilotMax, step.From != limit, step.To == limit:
			t.Fatalf("%+v within %d to %d", step, b.PilotMin, b.PilotMax)
		case step.Why == pilot.Bounded:
		case step.To < limit && bad < 2:
			t.Fatalf("%+v by %d looks in breach", step, bad)
		case step.To < limit && step.Why != pilot.Failing && step.To > b.PilotMin && !slices.ContainsFunc(looks, func(s pilot.Sight) bool {
			return step.To == int64(0.7*float64(min(limit, s.Inside)))
		}):
			t.Fatalf("%+v is not 70 %%", step)
		case step.To > limit && (step.Why != pilot.Room || looks[n-1].AtMillis-from < 60_000 || float64(step.To) > 1.1*float64(limit)+1):
			t.Fatalf("%+v by %d looks from %d on", step, n, from)
		case step.To > limit && (breach(&b, looks[n-1]) || breach(&b, looks[n-2])):
			t.Fatalf("%+v after a breach", step)
		case step.To > limit && float64(max(looks[n-1].Inside, looks[n-2].Inside)) < 0.95*float64(limit):
			t.Fatalf("%+v though the cap is not in use", step)
		}
	})
}

func breach(b *zone.Settings, s pilot.Sight) bool {
	return s.P95Millis > float64(b.PilotP95Millis) || s.ErrorPercent > float64(b.PilotErrorPercent)
}

// TestOneSession: a bot with most of the answers moves no percentile, two servers come to what one would, and few answers are no signal.
func TestOneSession(t *testing.T) {
	t.Parallel()
	var one pilot.Tally
	two := [2]pilot.Tally{}
	bot := [16]byte{255}
	for i := range 1_000 {
		visitor := [16]byte{byte(i % 200)}
		one.Add(visitor, 40*time.Millisecond, false)
		two[i%2].Add(visitor, 40*time.Millisecond, false)
	}
	for range 5_000 {
		one.Add(bot, 9*time.Second, true)
		two[0].Add(bot, 9*time.Second, true)
	}
	alone := one.Take(1)
	got, ok := alone.Seen()
	if !ok || got.P95Millis < 37 || got.P95Millis > 43 || got.ErrorPercent > 1 {
		t.Errorf("with a bot: %+v, %v", got, ok)
	}
	parts := make([]pilot.Look, 0, 2)
	for i := range two {
		text, err := json.Marshal(two[i].Take(1)) // as servers tell each other
		if err != nil {
			t.Fatal(err)
		}
		var read pilot.Look
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, read)
	}
	if both, ok := pilot.Join(parts...).Seen(); !ok || both.P95Millis != got.P95Millis || both.ErrorPercent > 1 {
		t.Errorf("two servers: %+v, %v", both, ok)
	}
	for i := range pilot.LeastAnswers - 1 {
		one.Add([16]byte{byte(i)}, time.Second, false)
	}
	if s, ok := one.Take(2).Seen(); ok {
		t.Errorf("%d answers: %+v", pilot.LeastAnswers-1, s)
	}
	for i := range 10_000 * 4 {
		one.Add([16]byte{byte(i), byte(i >> 8)}, time.Duration(1+i%100)*time.Millisecond, i%50 == 0)
	}
	if s, ok := one.Take(3).Seen(); !ok || s.P95Millis < 88 || s.P95Millis > 102 || s.ErrorPercent < 1 || s.ErrorPercent > 3 {
		t.Errorf("a sample: %+v, %v", s, ok)
	}
}

func TestReadSite(t *testing.T) {
	t.Parallel()
	if s, err := pilot.ReadSite("200 at a time, 40 ms"); err != nil || s.AtOnce != 200 || s.Takes != 40*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"", "200", "0 at a time, 40 ms", "200 at a time, 40", "200 at a time, 0 ms", "200 at a time, 9 s"} {
		if s, err := pilot.ReadSite(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}
