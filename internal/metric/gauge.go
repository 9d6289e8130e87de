package metric

import (
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gauge is one series of a zone, computed from its settings and its state.
type gauge struct {
	desc *prometheus.Desc
	// kind is GaugeValue, or CounterValue for a total that the store keeps.
	kind  prometheus.ValueType
	value func(zone.Settings, line.Stats) float64
	// mode is the value of the second label, if there is one.
	mode []string
}

// gauges show each zone's line as it was last seen. A zone whose store does not
// answer has no series in that scrape: no value is better than an old one.
type gauges struct {
	last   func() iter.Seq2[zone.Settings, line.Stats]
	gauges []gauge
	// idle counts the sessions of a zone that asked this server, and those that have asked for nothing for that long.
	idle func(zoneID string, length time.Duration) (sessions, idle int64)
}

// idleAfter is for how long a session has asked for nothing to be counted as idle.
const idleAfter = 5 * time.Minute

// Show registers the gauges of all zones. At each scrape they ask last what the watch saw last, at most a second ago, and idle, about
// zones with a cap, how many sessions asked this server, and how many of them have asked for nothing for that long.
func (m *Metrics) Show(last func() iter.Seq2[zone.Settings, line.Stats], idle func(zoneID string, length time.Duration) (sessions, idle int64)) {
	m.reg.MustRegister(&gauges{last: last, gauges: zoneGauges(), idle: idle})
}

var (
	sessionsDesc = describe("queue_sessions", "Sessions of a zone with a cap that asked this server and go on.")
	idleDesc     = describe("queue_sessions_idle", "Those of queue_sessions that have asked for nothing for five minutes.")
)

// zoneGauges returns the gauges of a zone. All servers of one store show the same
// values: a query takes their max over the servers, never their sum.
func zoneGauges() []gauge {
	all := []gauge{
		ofState("queue_waiting", "Visitors in the line.",
			func(s line.State) int64 { return s.Waiting }),
		ofState("queue_released", "Visitors in the line who may be admitted when they poll.",
			func(s line.State) int64 { return s.Released }),
		ofState("queue_overdue", "Released visitors who did not poll when their turn came.",
			func(s line.State) int64 { return s.Released - s.Live }),
		ofState("queue_window_admissions", "Admissions in the last window; after a loss, those that may have been lost too.",
			func(s line.State) int64 { return s.InWindow }),
		ofState("queue_window_limit", "The most admissions in a window, the burst apart.",
			func(s line.State) int64 { return s.WindowLimit }),
		ofState("queue_minute_admissions", "Admissions in the last 60 s; after a loss, those that may have been lost too.",
			func(s line.State) int64 { return s.InMinute }),
		of("queue_second_admissions_max", "The most admissions in any 1,000 ms of the last one to two minutes.",
			func(_ zone.Settings, s line.Stats) float64 { return float64(s.MostInSecond) }),
		ofSettings("queue_second_limit", "The most admissions in any 1,000 ms while there is a line.",
			func(s zone.Settings) int64 { return window.RatesOf(s).PerSecond }),
		ofSettings("queue_per_minute", "The limit: the most admissions in 60 s, as the operator set it.",
			func(s zone.Settings) int64 { return s.PerMinute }),
		ofState("queue_inside", "Admissions that are inside, in a zone with a cap; after a loss, those that may be inside too.",
			func(s line.State) int64 { return s.Inside }),
		ofState("queue_inside_unknown", "Those of queue_inside that may be inside, since the store has lost data.",
			func(s line.State) int64 { return s.InsideLost }),
		ofSettings("queue_inside_limit", "The cap: the most that may be inside; 0 for none.",
			func(s zone.Settings) int64 { return s.MaxInside }),
		of("queue_pilot_steers", "1 if the autopilot sets the cap (pilot: steer), else 0.",
			func(z zone.Settings, _ line.Stats) float64 { return oneIf(z.Pilot == zone.PilotSteer) }),
		ofSettings("queue_pilot_least", "The least that the autopilot sets the cap to (pilotMin).",
			func(s zone.Settings) int64 { return s.PilotMin }),
		ofSettings("queue_burst", "Extra admissions that a window may have while nobody waits.",
			func(s zone.Settings) int64 { return s.Burst }),
		of("queue_estimate_seconds", "The wait that one who joins now is told.",
			func(_ zone.Settings, s line.Stats) float64 { return seconds(s.EstimateMillis) }),
	}
	all = append(all, eventGauges()...)
	for _, x := range line.TotalTable {
		if x.Metric {
			all = append(all, total("queue_zone_"+x.Snake()+"_total", x.Help, x.At))
		}
	}
	mode := prometheus.NewDesc("queue_zone_mode", "1 for the mode that the zone is in, else 0.", []string{"zone", "mode"}, nil)
	for _, m := range []zone.Mode{zone.ModeQueue, zone.ModeOpen, zone.ModeClosed} {
		all = append(all, gauge{
			desc: mode, kind: prometheus.GaugeValue, mode: []string{string(m)},
			value: func(s zone.Settings, _ line.Stats) float64 { return oneIf(s.Mode == m) },
		})
	}
	return all
}

// eventGauges returns the gauges of the event that is next or under way, by the store's clock.
func eventGauges() []gauge {
	ofStep := func(name, help string, millis func(event.State, line.State) int64) gauge {
		return of(name, help, func(z zone.Settings, s line.Stats) float64 { return seconds(millis(z.EventState, s.State)) })
	}
	return []gauge{
		of("queue_event_holding", "1 while an event admits nobody: from when people gather until it opens; else 0.",
			func(_ zone.Settings, s line.Stats) float64 { return oneIf(s.State.OpensAtMillis > s.State.NowMillis) }),
		ofStep("queue_event_late_seconds", "For how long the next step of the event has been due and was not made; 0 for none.",
			func(e event.State, s line.State) int64 { return e.LateMillis(s.NowMillis) }),
		ofStep("queue_event_held_seconds", "For how long a step that an operator holds is past the time at which it was listed; 0 for none.",
			func(e event.State, s line.State) int64 { return e.HeldMillis(s.NowMillis) }),
	}
}

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"zone"}, nil)
}

// of returns a gauge of a zone.
func of(name, help string, value func(zone.Settings, line.Stats) float64) gauge {
	return gauge{desc: describe(name, help), kind: prometheus.GaugeValue, value: value}
}

func ofState(name, help string, value func(line.State) int64) gauge {
	return of(name, help, func(_ zone.Settings, s line.Stats) float64 { return float64(value(s.State)) })
}

func ofSettings(name, help string, value func(zone.Settings) int64) gauge {
	return of(name, help, func(z zone.Settings, _ line.Stats) float64 { return float64(value(z)) })
}

// total returns a counter that the store keeps. It begins at 0 again if the store's data is lost.
func total(name, help string, at func(*line.Totals) *int64) gauge {
	return gauge{
		desc: describe(name, help), kind: prometheus.CounterValue,
		value: func(_ zone.Settings, s line.Stats) float64 { return float64(*at(&s.Totals)) },
	}
}

func seconds(millis int64) float64 { return (time.Duration(millis) * time.Millisecond).Seconds() }

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// ShowServer registers the gauge that says whether this server is ready, as /readyz
// would say. It calls ready at each scrape.
func (m *Metrics) ShowServer(ready func() bool) {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "queue_ready", Help: "1 while this server asks for traffic, as /readyz says; else 0.",
	}, func() float64 { return oneIf(ready()) }))
}

// ShowUpgraded registers the gauge of connections to sites that were upgraded, such as WebSockets.
func (m *Metrics) ShowUpgraded(upgraded func() int) {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "queue_site_upgraded", Help: "Connections through the gateway in the box that were upgraded, such as WebSockets.",
	}, func() float64 { return float64(upgraded()) }))
}

// ShowKept registers the gauge that says whether what is in force on this server, or what was used, would
// be lost with it. It calls notKept at each scrape, which returns nil if none would.
func (m *Metrics) ShowKept(notKept func() error) {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "queue_store_unsaved",
		Help: "1 while its store does not take settings in force on this server, or who was admitted, so that they are lost with it; else 0.",
	}, func() float64 { return oneIf(notKept() != nil) }))
}

// Describe implements prometheus.Collector. It may describe a metric more than once.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, x := range g.gauges {
		out <- x.desc
	}
	out <- sessionsDesc
	out <- idleDesc
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	for settings, stats := range g.last() {
		for _, x := range g.gauges {
			labels := append([]string{settings.ZoneID}, x.mode...)
			out <- prometheus.MustNewConstMetric(x.desc, x.kind, x.value(settings, stats), labels...)
		}
		if settings.MaxInside > 0 {
			sessions, idle := g.idle(settings.ZoneID, idleAfter)
			out <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(sessions), settings.ZoneID)
			out <- prometheus.MustNewConstMetric(idleDesc, prometheus.GaugeValue, float64(idle), settings.ZoneID)
		}
	}
}
