package metric

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zones"
)

// The bounds of native histograms: each bucket is a tenth wider than the one before.
// When there are more than nativeMaxBuckets, the histogram begins anew, at most once
// in nativeMinReset.
const (
	nativeFactor     = 1.1
	nativeMaxBuckets = 100
	nativeMinReset   = time.Hour
)

// Classic buckets, for a Prometheus that does not store native ones. All but
// ratioBuckets are in seconds.
var (
	// callBuckets reach from a call of the embedded store to one of a store that hangs.
	callBuckets = []float64{.00001, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	// answerBuckets reach from a page in memory to one that times out.
	answerBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	// waitBuckets reach from no wait to four hours.
	waitBuckets = []float64{.1, 1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}
	// stepBuckets are fine around 1 s, by which a step must be made.
	stepBuckets = []float64{.25, .5, .75, 1, 2, 5, 15, 60, 300}
	// ratioBuckets are shares of the real wait, and fine around 0.15, the most that the median of errors should be.
	ratioBuckets = []float64{.02, .05, .1, .15, .2, .3, .4, .5, .75, 1, 2, 5}
)

// Options are the options of Metrics. All are optional.
type Options struct {
	// Version and Revision describe the build.
	Version, Revision string
	// Codes are the codes of all refusals, from package problem. Any other is counted as "other".
	Codes []string
	// SiteAnswers are the outcomes of what the gateway in the box passes on, from package gateway.
	SiteAnswers []string
}

// Metrics are all series of the server except those of the sweeper. Its methods may
// be called from any number of goroutines.
type Metrics struct {
	reg prometheus.Registerer

	byCall    [len(store.Calls)]callMeter
	unlimited *prometheus.CounterVec
	forwarded prometheus.Counter
	took      map[limiter.Source]prometheus.Observer
	changes   map[bool]prometheus.Counter
	// ofZones are the metrics whose first label is a zone.
	ofZones []ofZone

	// zones is replaced, never changed; mu guards its replacement.
	zones atomic.Pointer[map[string]*zoneMeter]
	mu    sync.Mutex
}

// New registers the server's metrics, and those of the Go runtime and the process, with reg, which has none of them yet.
func New(reg prometheus.Registerer, o Options) *Metrics {
	m := &Metrics{
		reg:       reg,
		unlimited: newCounter("queue_joins_unlimited_total", "Joins that no address was counted for, by the reason: private, trusted.", "reason"),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_forwarded_joins_refused_total",
			Help: "Joins refused by their address that say they were forwarded, by a proxy that is not trusted: perhaps one of ours.",
		}),
	}
	for _, reason := range guard.Reasons {
		m.unlimited.WithLabelValues(reason)
	}
	calls := newHistogram("queue_store_call_seconds", "How long a call to the store took, waiting included.", callBuckets, "call")
	failures := newCounter("queue_store_call_failures_total", "Calls that the store did not answer.", "call")
	for call, name := range store.Calls {
		m.byCall[call] = callMeter{calls.WithLabelValues(name), failures.WithLabelValues(name)}
	}
	took := newHistogram("queue_limit_decision_seconds",
		"How long the decision of a limit took, waiting included; those from memory are not timed.", callBuckets, "source")
	m.took = map[limiter.Source]prometheus.Observer{
		limiter.SourceStore: took.WithLabelValues(string(limiter.SourceStore)),
		limiter.SourceLocal: took.WithLabelValues(string(limiter.SourceLocal)),
	}
	changes := newCounter("queue_limit_partition_changes_total",
		"How often a partition of the limits' store began to fail, and was calm again.", "to")
	m.changes = map[bool]prometheus.Counter{true: changes.WithLabelValues("failing"), false: changes.WithLabelValues("calm")}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "queue_build_info", Help: "1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": o.Version, "revision": o.Revision, "go_version": runtime.Version()},
	})
	build.Set(1)
	reg.MustRegister(calls, failures, m.unlimited, m.forwarded, took, changes, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.addZoneMetrics(o)
	for _, v := range m.ofZones {
		reg.MustRegister(v)
	}
	m.zones.Store(&map[string]*zoneMeter{})
	m.Know(nowhere)
	return m
}

// addZoneMetrics adds the metrics that each zone has; see zone.go.
func (m *Metrics) addZoneMetrics(o Options) {
	type (
		counters = map[string]prometheus.Counter
		counter  = prometheus.Counter
		gauge    = prometheus.Gauge
		observer = prometheus.Observer
	)
	m.counters("queue_joins_total", "Requests for a place, by what became of them.",
		"outcome", orOther(answer.Outcomes()), func(z *zoneMeter) *counters { return &z.joins })
	m.counters("queue_polls_total", "Polls of a place, by what became of them.",
		"outcome", orOther(answer.Outcomes()), func(z *zoneMeter) *counters { return &z.polls })
	m.counters("queue_refusals_total", "Requests that ended with a problem document, by its code.",
		"code", orOther(o.Codes), func(z *zoneMeter) *counters { return &z.refusals })
	m.counters("queue_site_requests_total", "Requests that a gateway asked about, by what became of them.",
		"outcome", orOther(site.Outcomes), func(z *zoneMeter) *counters { return &z.site })
	m.counters("queue_site_answers_total", "Requests that went on to a site behind the gateway in the box, by what became of them.",
		"outcome", orOther(o.SiteAnswers), func(z *zoneMeter) *counters { return &z.siteAnswers })
	m.histogram("queue_site_first_byte_seconds", "How long the site behind the gateway in the box took to begin an answer.",
		answerBuckets, func(z *zoneMeter) *observer { return &z.firstByte })
	m.counters("queue_pilot_steps_total", "Steps that the autopilot made through this server, or advised, by the reason.",
		"why", orOther(pilot.Reasons), func(z *zoneMeter) *counters { return &z.pilotSteps })
	m.gauge("queue_pilot_signal_away_seconds", "For how long the autopilot has seen nothing of the site; 0 while it sees something, or has nothing to steer.",
		func(z *zoneMeter) *prometheus.Gauge { return &z.pilotAway })
	m.counters("queue_challenges_total", "Joins that had to show a proof, by what they showed: see docs/operate/challenge.md.",
		"outcome", orOther(challenge.Outcomes), func(z *zoneMeter) *counters { return &z.challenges })
	m.counter("queue_admissions_total", "Visitors admitted by this server.",
		func(z *zoneMeter) *counter { return &z.admissions })
	m.counter("queue_local_admissions_total", "Of the visitors admitted, those whom this server admitted by itself, while the store was away.",
		func(z *zoneMeter) *counter { return &z.counted[zones.AdmittedLocally] })
	m.counter("queue_restored_places_total", "Places that the store had lost and a visitor's own poll put back.",
		func(z *zoneMeter) *counter { return &z.counted[zones.Restored] })
	m.counter("queue_limit_exceeded_seconds_total", "Seconds in which the zone's log had more admissions than its limit allows. Must stay 0.",
		func(z *zoneMeter) *counter { return &z.exceeded })
	m.counter("queue_losses_total", "Losses of the zone's data that its store has noticed. After each, nobody is admitted for about a window.",
		func(z *zoneMeter) *counter { return &z.counted[zones.Lost] })
	m.counter("queue_departures_forgotten_total", "Departures that still mattered and are not remembered at all: after a loss such a place may come back.",
		func(z *zoneMeter) *counter { return &z.counted[zones.Forgotten] })
	m.gauge("queue_store_failing", "1 while the latest call to the zone's store failed, else 0.",
		func(z *zoneMeter) *gauge { return &z.storeFailing })
	m.gauge("queue_clock_ahead_seconds", "By how much the zone's clock is ahead of this server's; negative if behind.",
		func(z *zoneMeter) *gauge { return &z.clock })
	m.histogram("queue_wait_seconds", "How long those who were admitted had waited.",
		waitBuckets, func(z *zoneMeter) *observer { return &z.waits })
	m.histogram("queue_event_step_delay_seconds",
		"How long after its time this server made a step of an event; 0 for what has no time, as to take up a new one.",
		stepBuckets, func(z *zoneMeter) *observer { return &z.steps })
	m.histogram("queue_estimate_error_ratio",
		"|estimate - real| / real, of the estimates that some of those who were admitted had been told; real waits of a window or more.",
		ratioBuckets, func(z *zoneMeter) *observer { return &z.estimateErrors })
	m.counters("queue_estimate_ranges_total", "Ranges that some of those who were admitted had been told, by where the real wait lay.",
		"outcome", estimate.Outcomes[:], func(z *zoneMeter) *counters { return &z.ranges })
	m.histogram("queue_estimate_range_width_ratio", "How wide those ranges were, as a share of the real wait.",
		ratioBuckets, func(z *zoneMeter) *observer { return &z.rangeWidths })
}

func newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func newHistogram(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     nativeFactor,
		NativeHistogramMaxBucketNumber:  nativeMaxBuckets,
		NativeHistogramMinResetDuration: nativeMinReset,
	}, []string{label})
}
