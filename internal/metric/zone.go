package metric

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/zones"
)

// nowhere is the label of a request that names no zone, or one that is not known.
const nowhere = ""

// other stands for an outcome or code that is not in its list.
const other = "other"

// zoneMeter holds the series of one zone, so that counting needs no look-up by labels.
type zoneMeter struct {
	// joins, polls, refusals, site, siteAnswers, challenges and pilotSteps are maps that never change.
	joins, polls, refusals, site, siteAnswers, challenges, pilotSteps map[string]prometheus.Counter

	// ranges are by the name of the estimate.Outcome.
	ranges map[string]prometheus.Counter

	admissions, exceeded                      prometheus.Counter
	counted                                   [zones.NumCounted]prometheus.Counter
	storeFailing, clock, pilotAway            prometheus.Gauge
	waits, steps, estimateErrors, rangeWidths prometheus.Observer
	firstByte                                 prometheus.Observer
	// refused is what refusals have counted, in a map that never changes.
	refused map[string]*atomic.Int64
}

// meter returns the zone's series, or those of nowhere for a zone that is not known,
// or not any more.
func (m *Metrics) meter(zoneID string) *zoneMeter {
	zones := *m.zones.Load()
	if z, ok := zones[zoneID]; ok {
		return z
	}
	return zones[nowhere]
}

// Join counts one request for a place by its outcome, one of answer.Outcomes.
func (m *Metrics) Join(zoneID, outcome string) { add(m.meter(zoneID).joins, outcome) }

// Poll counts one poll by its outcome, one of answer.Outcomes.
func (m *Metrics) Poll(zoneID, outcome string) { add(m.meter(zoneID).polls, outcome) }

// Refuse counts one request that ended with a problem, by its code.
func (m *Metrics) Refuse(zoneID, code string) {
	z := m.meter(zoneID)
	if _, ok := z.refused[code]; !ok {
		code = other
	}
	z.refusals[code].Inc()
	z.refused[code].Add(1)
}

// Refused returns how many requests of a zone this server has refused; 0 for a zone that is not known.
func (m *Metrics) Refused(zoneID string) (all int64) {
	for _, n := range m.RefusedBy(zoneID) {
		all += n
	}
	return all
}

// RefusedBy returns the same by the code of the refusal, without those that never occurred.
func (m *Metrics) RefusedBy(zoneID string) map[string]int64 {
	by := make(map[string]int64)
	if z, ok := (*m.zones.Load())[zoneID]; ok {
		for code, n := range z.refused {
			if n := n.Load(); n > 0 {
				by[code] = n
			}
		}
	}
	return by
}

// Site counts one request that a gateway asked about, by outcome: one of site.Outcomes.
func (m *Metrics) Site(zoneID, outcome string) { add(m.meter(zoneID).site, outcome) }

// SiteAnswer counts one request that went on to a site, by outcome, one of gateway.Outcomes, and how long the site took to begin an
// answer; 0 if that is not to be counted.
func (m *Metrics) SiteAnswer(zoneID, outcome string, first time.Duration) {
	z := m.meter(zoneID)
	add(z.siteAnswers, outcome)
	if first > 0 {
		z.firstByte.Observe(first.Seconds())
	}
}

// PilotStep counts one step that the autopilot made through this server, or advised, by its reason, one of pilot.Reasons.
func (m *Metrics) PilotStep(zoneID, why string) { add(m.meter(zoneID).pilotSteps, why) }

// PilotSignal says for how long the autopilot has seen nothing of the zone's site; 0 while it sees something, or has nothing to steer.
func (m *Metrics) PilotSignal(zoneID string, away time.Duration) {
	m.meter(zoneID).pilotAway.Set(away.Seconds())
}

// Challenge counts one join that was asked for a proof, by its outcome, one of challenge.Outcomes.
func (m *Metrics) Challenge(zoneID, outcome string) { add(m.meter(zoneID).challenges, outcome) }

// Step counts one step of an event that this server made, and how late that was.
func (m *Metrics) Step(zoneID string, late time.Duration) {
	m.meter(zoneID).steps.Observe(late.Seconds())
}

// Admit counts one visitor who was admitted, and how long the visitor had waited.
func (m *Metrics) Admit(zoneID string, waited time.Duration) {
	z := m.meter(zoneID)
	z.admissions.Inc()
	z.waits.Observe(waited.Seconds())
}

// Exceeded counts a second in which the zone's log had more admissions than its limit allows.
func (m *Metrics) Exceeded(zoneID string) { m.meter(zoneID).exceeded.Inc() }

// StoreFailing says whether the latest call to the zone's store failed.
func (m *Metrics) StoreFailing(zoneID string, failing bool) {
	m.meter(zoneID).storeFailing.Set(oneIf(failing))
}

func add(counters map[string]prometheus.Counter, label string) {
	c, ok := counters[label]
	if !ok {
		c = counters[other]
	}
	c.Inc()
}

// Know makes the series of zones, all at 0. Series of zones that are known already stay
// as they are.
func (m *Metrics) Know(zoneIDs ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	zones := maps.Clone(*m.zones.Load())
	for _, id := range zoneIDs {
		if _, ok := zones[id]; ok {
			continue
		}
		z := &zoneMeter{}
		for _, v := range m.ofZones {
			v.bind(z, id)
		}
		z.refused = make(map[string]*atomic.Int64, len(z.refusals))
		for code := range z.refusals {
			z.refused[code] = new(atomic.Int64)
		}
		zones[id] = z
	}
	m.zones.Store(&zones)
}

// Forget deletes the series of a zone.
func (m *Metrics) Forget(zoneID string) {
	if zoneID == nowhere {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	zones := maps.Clone(*m.zones.Load())
	delete(zones, zoneID)
	m.zones.Store(&zones)
	// The series are deleted after the zone is out of the map. So no later caller
	// counts in a deleted series, apart from one that has it already, which is harmless.
	gone := prometheus.Labels{"zone": zoneID}
	for _, v := range m.ofZones {
		v.DeletePartialMatch(gone)
	}
}

// ofZone is one metric, with the series of all zones.
type ofZone struct {
	vec
	// bind sets the zone's series in z.
	bind func(z *zoneMeter, zoneID string)
}

// vec is what all kinds of metrics with labels have.
type vec interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

// counters adds a metric with one counter for each zone and each value of a label.
func (m *Metrics) counters(name, help, label string, values []string, in func(*zoneMeter) *map[string]prometheus.Counter) {
	v := newCounter(name, help, "zone", label)
	m.ofZones = append(m.ofZones, ofZone{v, func(z *zoneMeter, zoneID string) {
		all := make(map[string]prometheus.Counter, len(values))
		for _, value := range values {
			all[value] = v.WithLabelValues(zoneID, value)
		}
		*in(z) = all
	}})
}

// orOther returns the values that a label takes, and other.
func orOther(values []string) []string { return append(slices.Clone(values), other) }

// counter adds a metric with one counter for each zone.
func (m *Metrics) counter(name, help string, in func(*zoneMeter) *prometheus.Counter) {
	v := newCounter(name, help, "zone")
	m.ofZones = append(m.ofZones, ofZone{v, func(z *zoneMeter, zoneID string) { *in(z) = v.WithLabelValues(zoneID) }})
}

// gauge adds a metric with one gauge for each zone.
func (m *Metrics) gauge(name, help string, in func(*zoneMeter) *prometheus.Gauge) {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"zone"})
	m.ofZones = append(m.ofZones, ofZone{v, func(z *zoneMeter, zoneID string) { *in(z) = v.WithLabelValues(zoneID) }})
}

// histogram adds a metric with one histogram for each zone.
func (m *Metrics) histogram(name, help string, buckets []float64, in func(*zoneMeter) *prometheus.Observer) {
	v := newHistogram(name, help, buckets, "zone")
	m.ofZones = append(m.ofZones, ofZone{v, func(z *zoneMeter, zoneID string) { *in(z) = v.WithLabelValues(zoneID) }})
}
