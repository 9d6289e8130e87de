package metric

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// gaugeTimeout bounds what one scrape asks of the store.
	gaugeTimeout = time.Second
	// gaugeMaxAge is how long what was heard serves further scrapes.
	gaugeMaxAge = time.Second
	// gaugeWorkers is how many zones are asked at a time: enough that a dead
	// node's zones do not keep those of others out, few enough to be no load.
	gaugeWorkers = 16
)

// Lines is what the gauges ask at a scrape.
type Lines interface {
	Zones(ctx context.Context) ([]zone.Settings, error)
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
}

// gauge is one series of a zone, computed from its state.
type gauge struct {
	desc  *prometheus.Desc
	value func(line.State) float64
}

// gauges show each zone's line as it is when Prometheus asks. A zone whose
// store does not answer in time has no series in that scrape: a gap is true,
// an old value would not be.
type gauges struct {
	lines   Lines
	metrics *Metrics
	gauges  []gauge

	mu   sync.Mutex
	at   time.Time // when heard was
	last []prometheus.Metric
}

// Show registers the gauges of all zones, asked of l at each scrape.
func (m *Metrics) Show(l Lines) error {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"zone"}, nil)
	}
	err := m.reg.Register(&gauges{lines: l, metrics: m, gauges: []gauge{
		{
			desc("queue_waiting", "Visitors in the line."),
			func(s line.State) float64 { return float64(s.Waiting) },
		},
		{
			desc("queue_released", "Visitors in the line who may be admitted when they poll."),
			func(s line.State) float64 { return float64(s.Released) },
		},
		{
			desc("queue_overdue", "Released visitors who did not poll when their turn came."),
			func(s line.State) float64 { return float64(s.Released - s.Live) },
		},
		{
			desc("queue_window_use_ratio", "Admissions in the last window, as a share of its limit; 0 for a limit of 0."),
			windowUse,
		},
	}})
	if err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	return nil
}

func windowUse(s line.State) float64 {
	if s.WindowLimit <= 0 {
		return 0
	}
	return float64(s.InWindow) / float64(s.WindowLimit)
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, x := range g.gauges {
		out <- x.desc
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	for _, m := range g.read() {
		out <- m
	}
}

// read returns all gauges, at most gaugeMaxAge old. Scrapes that come together
// share one reading.
func (g *gauges) read() []prometheus.Metric {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.at.IsZero() && g.metrics.now().Sub(g.at) < gaugeMaxAge {
		return g.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	g.last = g.ask(ctx)
	g.at = g.metrics.now()
	return g.last
}

// ask asks the store for the state of every zone.
func (g *gauges) ask(ctx context.Context) []prometheus.Metric {
	zones, err := g.lines.Zones(ctx)
	if err != nil {
		return nil // counted and timed where the store is called
	}
	var (
		mu   sync.Mutex
		all  []prometheus.Metric
		ids  = make(chan string)
		work sync.WaitGroup
	)
	for range min(gaugeWorkers, len(zones)) {
		work.Go(func() {
			for id := range ids {
				ms := g.zone(ctx, id)
				mu.Lock()
				all = append(all, ms...)
				mu.Unlock()
			}
		})
	}
	for _, z := range zones {
		ids <- z.ZoneID
	}
	close(ids)
	work.Wait()
	return all
}

// zone returns one zone's gauges, or none.
func (g *gauges) zone(ctx context.Context, zoneID string) []prometheus.Metric {
	if ctx.Err() != nil {
		return nil
	}
	stats, err := g.lines.Stats(ctx, zoneID)
	if err != nil {
		return nil
	}
	if stats.State.Waiting == 0 {
		// Whoever's estimate is still remembered has left.
		g.metrics.meter(zoneID).estimates.reset()
	}
	ms := make([]prometheus.Metric, 0, len(g.gauges))
	for _, x := range g.gauges {
		ms = append(ms, prometheus.MustNewConstMetric(x.desc, prometheus.GaugeValue, x.value(stats.State), zoneID))
	}
	return ms
}
