package metric

import "github.com/openqueue/waitingroom/internal/estimate"

// Judged implements zones.Meter. It counts how good an estimate was that a visitor had been told.
func (m *Metrics) Judged(zoneID string, j estimate.Judgement) {
	z := m.meter(zoneID)
	z.estimateErrors.Observe(j.Error())
	if j.Outcome == estimate.NoRange {
		return
	}
	add(z.ranges, estimate.Outcomes[j.Outcome])
	z.rangeWidths.Observe(j.Width)
}
