package limiter

import (
	"reflect"
	"testing"
)

// TestHistoryIsOfAnHour: older seconds are forgotten.
func TestHistoryIsOfAnHour(t *testing.T) {
	t.Parallel()
	s := newPolicyMetrics()
	metrics := s.tierMetricsOf("default")
	for at := range int64(2*HistorySeconds + 1) {
		metrics.count(RefusedFromMemory)
		s.note(at)
	}
	last := s.history.newest(1)[0]
	if last != (Second{At: 2 * HistorySeconds, Refused: 1, FromMemory: 1}) || s.history.len() != HistorySeconds {
		t.Errorf("the last second: %+v, of %d", last, s.history.len())
	}
	if got := reflect.TypeFor[Second]().Size(); got != 24 {
		t.Errorf("a second takes %d bytes, and 24 are promised", got)
	}
}
