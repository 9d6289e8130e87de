package main

import (
	"math/rand/v2"
	"sync"

	"github.com/openqueue/waitingroom/internal/window"
)

// sampled is of how many visitors the polls of a crowd are computed.
const sampled = 50_000

// forecast is what a crowd asks of the servers.
type forecast struct {
	// peak is the most polls in any second; settled the polls a second in the
	// third minute after the first came, when periods have grown.
	peak, settled float64
	// each is the polls of a visitor, on average.
	each float64
}

// ahead is how long after the last has come polls are followed one by one, in
// milliseconds.
const ahead = 180_000

// foresee computes the polls of n visitors who come evenly over so many
// milliseconds and do as they are told: the arithmetic of package window, with
// an estimate that is right, and 5 to 100 ms for each answer and the next poll.
func foresee(n int, perMinute, arriveMillis int64) forecast {
	asked := [3]int64{int64(n), perMinute, arriveMillis}
	known, _ := foreseen.Load(asked)
	if f, is := known.(forecast); is {
		return f
	}
	f := compute(n, perMinute, arriveMillis)
	foreseen.Store(asked, f)
	return f
}

// foreseen are forecasts by what was asked: each takes a tenth of a second, and the
// pages ask for most of them again and again.
var foreseen sync.Map

func compute(n int, perMinute, arriveMillis int64) forecast {
	z := zoneFor(benchZone)
	z.PerMinute = perMinute
	r := window.RatesOf(z)
	rng := rand.New(rand.NewPCG(1, 2))
	seconds := make(map[int64]int)
	polls := 0.
	for i := range sampled {
		share := (float64(i) + .5) / sampled
		now := int64(share * float64(arriveMillis))
		came, turn := now, int64(share*float64(n)/float64(perMinute)*window.MinuteMillis)
		for turn > now {
			wait := turn - now
			if now > arriveMillis+ahead && wait > 2*window.MinuteMillis {
				// Nothing changes until the last minutes.
				skip := wait - 2*window.MinuteMillis
				now, polls = now+skip, polls+float64(skip)/1000/settledPeriod
				continue
			}
			var period int64
			if wait*perMinute > r.Target*window.MinuteMillis {
				period = r.FarPeriod(wait, now-came, rng.Int64N(256))
			} else {
				period = r.AppointmentPeriod(wait, window.Shows{})
			}
			now += period + 5 + rng.Int64N(96)
			seconds[now/1000]++
			polls++
		}
	}
	// Whole numbers are added up, in whatever order they come.
	busiest, inThird := 0, 0
	for second, n := range seconds {
		busiest = max(busiest, n)
		if second >= 120 && second < 180 {
			inThird += n
		}
	}
	scale := float64(n) / sampled
	return forecast{
		peak: float64(busiest) * scale, settled: float64(inThird) * scale / 60, each: polls / sampled,
	}
}
