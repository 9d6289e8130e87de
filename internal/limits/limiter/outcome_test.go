package limiter

import (
	"reflect"
	"testing"
)

// TestAnHourToTheMinute: questions that are older than an hour and a minute are in no sum.
func TestAnHourToTheMinute(t *testing.T) {
	t.Parallel()
	s := newPolicyMetrics()
	metrics := s.tierMetricsOf("default")
	for at := range int64(2 * HistorySeconds) {
		for range at % 3 {
			metrics.count(Allowed)
		}
		metrics.count(RefusedFromMemory)
		s.note(at)
		if at == 119 {
			if got := s.hour(); got[RefusedFromMemory] != 120 || got[Allowed] != 120 {
				t.Errorf("after two minutes: %v", got)
			}
		}
	}
	if got := s.hour(); got[RefusedFromMemory] != HistorySeconds || got[Allowed] != HistorySeconds {
		t.Errorf("after two hours: %v", got)
	}
	metrics.count(RefusedFromMemory)
	s.note(2 * HistorySeconds)
	if got := s.hour()[RefusedFromMemory]; got != HistorySeconds+1 {
		t.Errorf("a second more: %d", got)
	}
	last := s.history.newest(1)[0]
	if last != (Second{At: 2 * HistorySeconds, Refused: 1, FromMemory: 1}) || s.history.len() != HistorySeconds {
		t.Errorf("the last second: %+v, of %d", last, s.history.len())
	}
	if got := reflect.TypeFor[Second]().Size(); got != 24 {
		t.Errorf("a second takes %d bytes, and 24 are promised", got)
	}
}
