package metric

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/site"
)

// nowhere is the label of a request that names no zone, or one that is not known.
const nowhere = ""

// other stands for an outcome or code that is not in its list.
const other = "other"

// The values that labels take.
var (
	joinOutcomes = []string{"waiting", "admitted", "admitted_before", "closed", "full", "sold_out", "uninvited", "refused", "error", other}
	pollOutcomes = []string{"waiting", "admitted", "admitted_before", "gone", "sold_out", "early", "refused", "error", other}
	siteOutcomes = append(slices.Clone(site.Outcomes), other)
)

// zoneMeter holds the series of one zone, so that counting needs no look-up by labels.
type zoneMeter struct {
	// joins, polls, refusals and site are maps that never change.
	joins, polls, refusals, site map[string]prometheus.Counter

	admissions, restored  prometheus.Counter
	sessions              prometheus.Counter
	localAdmissions       prometheus.Counter
	storeFailing, clock   prometheus.Gauge
	waits, estimateErrors prometheus.Observer
	steps                 prometheus.Observer
	// ranges are by estimate.Outcome.
	ranges      [len(estimate.Outcomes)]prometheus.Counter
	rangeWidths prometheus.Observer
	lately      lately
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

// Join counts one request for a place by outcome: waiting, admitted,
// admitted_before, closed, full, sold_out, uninvited, refused or error.
func (m *Metrics) Join(zoneID, outcome string) { add(m.meter(zoneID).joins, outcome) }

// Poll counts one poll by outcome: waiting, admitted, admitted_before, gone,
// sold_out, early, refused or error.
func (m *Metrics) Poll(zoneID, outcome string) { add(m.meter(zoneID).polls, outcome) }

// Refuse counts one request that ended with a problem, by its code.
func (m *Metrics) Refuse(zoneID, code string) { add(m.meter(zoneID).refusals, code) }

// Site counts one request that a gateway asked about, by outcome: one of site.Outcomes.
func (m *Metrics) Site(zoneID, outcome string) { add(m.meter(zoneID).site, outcome) }

// SessionBegun counts one browser that got a session of a site.
func (m *Metrics) SessionBegun(zoneID string) { m.meter(zoneID).sessions.Inc() }

// Step counts one step of an event that this server made, and how late that was.
func (m *Metrics) Step(zoneID string, late time.Duration) {
	m.meter(zoneID).steps.Observe(late.Seconds())
}

// Admit counts one visitor who was let in, and how long the visitor had waited.
func (m *Metrics) Admit(zoneID string, waited time.Duration) {
	z := m.meter(zoneID)
	z.admissions.Inc()
	z.waits.Observe(waited.Seconds())
}

// AdmitLocally counts one visitor whom this server let in while the store was
// away. Admit counts the same visitor.
func (m *Metrics) AdmitLocally(zoneID string) { m.meter(zoneID).localAdmissions.Inc() }

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
		z := &zoneMeter{
			joins:           resolve(m.joins, id, joinOutcomes),
			polls:           resolve(m.polls, id, pollOutcomes),
			refusals:        resolve(m.refusals, id, m.codes),
			site:            resolve(m.site, id, siteOutcomes),
			sessions:        m.sessions.WithLabelValues(id),
			steps:           m.steps.WithLabelValues(id),
			admissions:      m.admissions.WithLabelValues(id),
			localAdmissions: m.localAdmissions.WithLabelValues(id),
			restored:        m.restored.WithLabelValues(id),
			storeFailing:    m.storeFailing.WithLabelValues(id),
			clock:           m.clock.WithLabelValues(id),
			waits:           m.waits.WithLabelValues(id),
			estimateErrors:  m.estimateErrors.WithLabelValues(id),
			rangeWidths:     m.rangeWidths.WithLabelValues(id),
		}
		for o, name := range estimate.Outcomes {
			z.ranges[o] = m.ranges.WithLabelValues(id, name)
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

func resolve(vec *prometheus.CounterVec, zoneID string, labels []string) map[string]prometheus.Counter {
	counters := make(map[string]prometheus.Counter, len(labels))
	for _, label := range labels {
		counters[label] = vec.WithLabelValues(zoneID, label)
	}
	return counters
}
