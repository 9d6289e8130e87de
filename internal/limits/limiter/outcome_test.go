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
	all := newest(s.history, HistorySeconds)
	if all[0].At != HistorySeconds+1 || all[len(all)-1] != (Second{At: 2 * HistorySeconds, Refused: 1, FromMemory: 1}) || cap(s.history) > 3*HistorySeconds {
		t.Errorf("the hour: %+v to %+v, with room for %d", all[0], all[len(all)-1], cap(s.history))
	}
	if got := reflect.TypeFor[Second]().Size(); got != 24 {
		t.Errorf("a second takes %d bytes, and 24 are promised", got)
	}
}
