package main

import (
	"encoding/binary"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/serve/problem"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestFiguresAreTheSame: at every second of three minutes with a crowd, what
// /stats, /history and /metrics show is the same, and what the crowd did.
func TestFiguresAreTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		reg := prometheus.NewPedanticRegistry()
		metrics, err := metric.New(reg, metric.Options{Codes: problem.Codes()})
		must(t, err)
		store, err := embedded.Open(embedded.Options{Logger: log})
		must(t, err)
		settings := zone.Defaults("Z")
		zones := registry.New(registry.Options{
			Store: store, Seeds: []zone.Settings{settings}, SeedFresh: true, Meter: metrics,
		})
		zones.Start(t.Context())
		defer zones.Stop()
		seen := watch.New(watch.Options{Lines: zones, Estimates: metrics})
		must(t, metrics.Show(seen))
		seen.Start(t.Context())
		defer seen.Stop()
		room := operator.New(zones, seen, log)

		c := crowd{t: t, zones: zones, rng: rand.New(rand.NewPCG(1, 1))}
		for tick := int64(1); tick < 180; {
			c.second()
			tick, err = seen.Wait(t.Context(), tick)
			must(t, err)
			stats, err := room.Stats(t.Context(), "Z")
			must(t, err)
			sample, _ := seen.Latest("Z")
			history := seen.History("Z")
			if last := history[len(history)-1]; last != sample {
				t.Errorf("the history ends with %+v, the latest is %+v", last, sample)
			}
			scraped := gauges(t, reg, "Z")
			for name, figure := range map[string][2]float64{
				"queue_waiting":               {float64(stats.Waiting), float64(sample.Waiting)},
				"queue_released":              {float64(stats.Released), float64(sample.Released)},
				"queue_overdue":               {float64(stats.Overdue), float64(sample.Overdue)},
				"queue_window_admissions":     {float64(stats.AdmittedInWindow), float64(sample.InWindow)},
				"queue_window_limit":          {float64(stats.WindowLimit), float64(sample.WindowLimit)},
				"queue_minute_admissions":     {float64(stats.AdmittedInMinute), float64(sample.InMinute)},
				"queue_second_admissions_max": {float64(stats.MostInSecond), float64(sample.MostInSecond)},
				"queue_per_minute":            {float64(stats.PerMinute), float64(sample.PerMinute)},
				"queue_window_use_ratio":      {stats.WindowUse, sample.Use},
				// The estimate is worked out anew meanwhile, so stats may have another.
				"queue_estimate_seconds": {float64(sample.EstimateMillis) / 1000, float64(sample.EstimateMillis) / 1000},
			} {
				if gauge, ok := scraped[name]; !ok || figure[0] != figure[1] || math.Abs(figure[0]-gauge) > 1e-9 {
					t.Errorf("second %d: %s is %v, stats have %v, the history %v", tick, name, gauge, figure[0], figure[1])
				}
			}
			if tick < 3 {
				continue
			}
			if *stats.JoinsPerMinute != sample.JoinsPerMinute || *stats.AdmittedPerMinute != sample.AdmittedPerMinute ||
				*stats.PollsPerSecond != sample.PollsPerSecond || *stats.SampledAt != sample.At {
				t.Errorf("second %d: rates %+v and %+v", tick, stats.Rates, sample)
			}
			if joined := c.inMinute(); tick > 61 && (sample.RateSeconds != 60 || sample.JoinsPerMinute != joined) {
				t.Errorf("second %d: %v joins in the minute, really %v", tick, sample.JoinsPerMinute, joined)
			}
			if sample.AdmittedPerMinute > float64(settings.PerMinute) {
				t.Errorf("second %d: %v admitted in the minute", tick, sample.AdmittedPerMinute)
			}
		}
		if sample, _ := seen.Latest("Z"); sample.Waiting == 0 || !sample.Judged() {
			t.Errorf("the crowd has not been much: %+v", sample)
		}
	})
}

// crowd joins and polls once a second, and knows what it did.
type crowd struct {
	t      *testing.T
	zones  *registry.Registry
	rng    *rand.Rand
	places []line.Place
	// joined are how many joined, by second.
	joined []int
}

// second has some join, and all who wait poll, before the next full second.
func (c *crowd) second() {
	c.t.Helper()
	n := c.rng.IntN(30)
	for range n {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], c.rng.Uint64())
		a, err := c.zones.Join(c.t.Context(), "Z", id)
		must(c.t, err)
		if a.Status == line.Waiting {
			c.places = append(c.places, a.Place)
		}
	}
	c.joined = append(c.joined, n)
	waiting := c.places[:0]
	for _, p := range c.places {
		a, err := c.zones.Poll(c.t.Context(), "Z", p)
		must(c.t, err)
		if a.Status == line.Waiting {
			waiting = append(waiting, p)
		}
	}
	c.places = waiting
}

// inMinute is how many joined in the last 60 seconds.
func (c *crowd) inMinute() (n float64) {
	for _, joined := range c.joined[max(0, len(c.joined)-60):] {
		n += float64(joined)
	}
	return n
}

// gauges are a zone's, as a scrape sees them.
func gauges(t *testing.T, reg *prometheus.Registry, zoneID string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	must(t, err)
	all := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); len(l) == 1 && l[0].GetValue() == zoneID && m.GetGauge() != nil {
				all[f.GetName()] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
